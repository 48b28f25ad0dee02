/*
 * mutex.h - private to channel/: a mutex in memory that processes share.
 */
#ifndef FL_MUTEX_H
#define FL_MUTEX_H

#include <pthread.h>

/* Make a mutex that the kernel marks when its owner ends. 0 or -errno. */
static inline int fl_mutex_make(pthread_mutex_t *mutex)
{
	pthread_mutexattr_t attr;
	int err = pthread_mutexattr_init(&attr);

	if (!err)
		err = pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	if (!err)
		err = pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	if (!err)
		err = pthread_mutex_init(mutex, &attr);
	pthread_mutexattr_destroy(&attr);
	return -err;
}

#endif
