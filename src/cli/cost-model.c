/*
 * cost-model.c - when is a concurrent analysis cheaper? (Ha et al., A concurrent
 * dynamic analysis framework for multicore hardware, OOPSLA 2009, section 4.)
 *
 *	E_s  = A + A_i + P + I_ap			(1)
 *	E_cA = A + A_i + A_q				(2)
 *	E_cP = P + P_c					(3)
 *	E_c  = max(E_cA, E_cP)				(4)
 *	the application dominates: E_cA >= E_cP		(5)
 *	then concurrency gains P + I_ap - A_q		(6)
 *	which is no loss when P + I_ap >= A_q		(7)
 *	and no more than A + A_i - P_c			(8)
 *	else it gains A + A_i + I_ap - P_c		(9)
 *	which is no loss when A + A_i + I_ap >= P_c	(10)
 *
 * I_ap, what an inline analysis costs the application's cache and registers, is
 * not known and not negative: E_s and each gain are lower bounds.
 *
 * Two things the paper leaves out, as its application has one thread and the
 * other cores are idle. Inline, u threads at work share the analysis, so P / u
 * stands for P in (1); (6), (7), (9) and (10) follow. And what both threads do
 * takes at least (u E_cA + E_cP) / CPUs, which with one CPU is their sum.
 */
#include "cli/cost.h"

const char *const fl_dominant_names[] = {
	[FL_APPLICATION] = "application", [FL_ANALYSIS] = "analysis", [FL_CPUS] = "cpus",
};
const char *const fl_cheaper_names[] = {
	[FL_CONCURRENT] = "concurrent", [FL_INLINE] = "inline", [FL_NEITHER] = "neither",
};

struct fl_model fl_cost_model(const struct fl_cost *c)
{
	struct fl_model m = { .share = c->p / c->threads };

	m.e_s = c->a + c->a_i + m.share;
	m.e_c_a = c->a + c->a_i + c->a_q;
	m.e_c_p = c->p + c->p_c;
	m.all = (c->threads * m.e_c_a + m.e_c_p) / c->cpus;
	m.dominant = m.e_c_a >= m.e_c_p ? FL_APPLICATION : FL_ANALYSIS;
	m.e_c = m.dominant == FL_APPLICATION ? m.e_c_a : m.e_c_p;
	if (m.all > m.e_c) {
		m.dominant = FL_CPUS;
		m.e_c = m.all;
	}
	m.gain = m.e_s - m.e_c;
	m.most = c->a + c->a_i - c->p_c;
	m.pays = m.gain >= 0;
	return m;
}

enum fl_cheaper fl_cost_judge(double e_s, double e_c, double noise, unsigned cpus)
{
	if (cpus < 2 || e_c - e_s > noise)
		return FL_INLINE;
	return e_s - e_c > noise ? FL_CONCURRENT : FL_NEITHER;
}
