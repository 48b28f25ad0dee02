#!/bin/sh
# An ordered access without a named pair, or whose mate is gone, does not pass.
check="$ROOT/tools/check-pairs"
. "$ROOT/tests/tools/tree.inc"

put src/channel/ring.c <<'END'
/*
 * A store_release(nothing) in a comment is no access.
 *
 * (B) pairs with (C): a block counted in head is written.
 */
#define publish(p, v) \
	store_release(p, v)

void produce(struct ring *r)
{
	if (load_acquire(&r->tail) == r->n)	/* (A) pairs with (D) */
		return;
	store_release(&r->head,
		      r->next);	/* (B) pairs with (C) */
	load_acquire(&r->own);		/* ordering: none, own index */
	puts("store_release(x)");
}

void consume(struct ring *r)
{
	uint32_t a = load_acquire(&r->head);	/* (C) pairs with (B) */

	/*
	 * (D) pairs with (A): what was counted is no longer read.
	 */
	store_release(&r->tail, a);
	/* (E) pairs with (F)
	 * in drain.c */
	exchange_release(&r->state, 1);
	fence_full();	/* (G) pairs with (H) in probe/trap.c */
}
END
put src/channel/drain.c <<'END'
void drain(struct ring *r)
{
	load_acquire(&r->state);	/* (F) pairs with (E) in ring.c */
}
END
put src/probe/trap.c <<'END'
void trap(struct ring *r)
{
	__atomic_load_n(&r->x, __ATOMIC_ACQUIRE);	/* (H) pairs with (G) in channel/ring.c */
}
END
clean "every access is named and every mate answers"

# plant FILE SED-SCRIPT TEXT WHY
plant()
{
	cp "$1" good.c
	sed -i "$2" "$1"
	cmp -s good.c "$1" && { echo "nothing planted: $4"; exit 1; }
	sees "$3" "$4"
	mv good.c "$1"
}
plant src/channel/ring.c 's|/\* (A) pairs.*||' \
	'ring.c:11: ordered access without a named pair' "a bare load_acquire"
plant src/channel/ring.c 's|/\* (B) pairs with (C) \*/||' \
	'ring.c:13: ordered access without' "a bare store over two lines"
plant src/channel/ring.c 's|ordering: none, ||' \
	'ring.c:15: ordered access without' "a comment that names nothing"
plant src/channel/ring.c 's|/\* (C) pairs with (B) \*/|/* (C) pairs with (A) */|' \
	'(C) pairs with (A) has no mate' "a mate that answers another"
plant src/channel/ring.c 's|in drain.c||' \
	'(E) pairs with (F) has no mate' "a mate in another file, not said"
plant src/channel/drain.c 's|/\*.*||' \
	'drain.c:3: ordered access without' "a bare access in the other file"
plant src/channel/drain.c 's|(F)|(I)|' \
	'(E) pairs with (F) has no mate in src/channel/drain.c' "a renamed mate"
plant src/channel/drain.c 's|in ring.c|in gone.c|' \
	'src/channel/gone.c, which is not there' "a file that is gone"
plant src/probe/trap.c 's|__atomic.*|atomic_thread_fence(x);|' \
	'trap.c:3: ordered access without' "a raw fence"
