/*
 * Toggle.java - the peer: java.lang.invoke.VolatileCallSite.
 *
 *	java Toggle TICKS_PER_SECOND inlined|called
 *
 * `inlined`: the site's invoker is a constant, as at an invokedynamic
 * instruction. The JIT compiler inlines the target, and throws the caller's
 * code away at each switch. `called`: the site is in a variable, and its target
 * is read and called each time.
 *
 * Prints one number of one run a line, `NAME NUMBER`; bench/java.sh takes the
 * medians. Names and meanings are those of throughput.c: `throughput` switches
 * between a target that counts and one that does nothing (Java has no site
 * that is off), `swap` and `balance` between two that count. The executor is
 * on CPU 0, the patcher on CPU 1, the compiler's threads wherever they like.
 */
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle;
import java.lang.invoke.VolatileCallSite;
import java.nio.file.Files;
import java.nio.file.Path;

public final class Toggle {
	static final int RUNS = 15, REPEAT = 64;
	static final double WINDOW_SECONDS = 0.02;
	/* Before anything is pinned: it is asked of the calling thread. */
	static final int CPUS = Runtime.getRuntime().availableProcessors();
	static final String[] RATE_NAMES = { "1k", "10k", "100k", "1m" };
	static final double[] RATES = { 1e3, 1e4, 1e5, 1e6 };

	static long a, b;			/* W the executor's targets */
	static volatile boolean stopping;	/* W main, R executor */

	static void targetA() { a++; }
	static void targetB() { b++; }
	static void targetNone() { }

	static final VolatileCallSite site;
	static VolatileCallSite variable;	/* the same, unknown to the compiler */
	static final MethodHandle inlined, toA, toB, toNone;
	static final VarHandle calls, seenA, seenB;
	static long callsValue, seenAValue, seenBValue;	/* what main may read */

	static {
		try {
			MethodHandles.Lookup l = MethodHandles.lookup();
			MethodType none = MethodType.methodType(void.class);

			toA = l.findStatic(Toggle.class, "targetA", none);
			toB = l.findStatic(Toggle.class, "targetB", none);
			toNone = l.findStatic(Toggle.class, "targetNone", none);
			site = new VolatileCallSite(toA);
			inlined = site.dynamicInvoker();
			variable = site;
			calls = l.findStaticVarHandle(Toggle.class, "callsValue",
						      long.class);
			seenA = l.findStaticVarHandle(Toggle.class, "seenAValue",
						      long.class);
			seenB = l.findStaticVarHandle(Toggle.class, "seenBValue",
						      long.class);
		} catch (ReflectiveOperationException e) {
			throw new ExceptionInInitializerError(e);
		}
	}

	/* ---- threads ----------------------------------------------------- */

	static void pin(int cpu) throws Exception {
		if (CPUS < 2)
			return;
		String tid = Files.readSymbolicLink(Path.of("/proc/thread-self"))
			.getFileName().toString();
		new ProcessBuilder("taskset", "-pc", "" + cpu, tid).start()
			.waitFor();
	}

	static void callInlined() throws Throwable {
		for (int i = 0; i < REPEAT; i++)
			inlined.invokeExact();
	}

	static void callCalled() throws Throwable {
		for (int i = 0; i < REPEAT; i++)
			variable.getTarget().invokeExact();
	}

	static void tell() {
		calls.setOpaque((long) calls.getOpaque() + REPEAT);
		seenA.setOpaque(a);
		seenB.setOpaque(b);
	}

	static void execute(boolean isInlined) {
		try {
			pin(0);
			while (!stopping) {
				if (isInlined)
					callInlined();
				else
					callCalled();
				tell();
			}
		} catch (Throwable e) {
			e.printStackTrace();
			System.exit(1);
		}
	}

	/* ---- windows ------------------------------------------------------- */

	static final class Window {
		double ns, calls, a, b, switches;

		double rate() { return calls / ns; }
	}

	/* Every 1/perSecond one target, then the other; 0: no switch. */
	static Window window(MethodHandle other, double perSecond,
			     double seconds) {
		Window w = new Window();
		double end = seconds * 1e9, at = 0;
		double period = perSecond > 0 ? 1e9 / perSecond : 0;
		double due = perSecond > 0 ? 0 : end;
		long n = 0, from;

		w.calls = -(long) calls.getOpaque();
		w.a = -(long) seenA.getOpaque();
		w.b = -(long) seenB.getOpaque();
		from = System.nanoTime();
		for (; at < end; at = System.nanoTime() - from)
			if (at >= due) {
				variable.setTarget(n++ % 2 == 0 ? other : toA);
				due += period;
			}
		w.calls += (long) calls.getOpaque();
		w.a += (long) seenA.getOpaque();
		w.b += (long) seenB.getOpaque();
		w.ns = at;
		w.switches = n;
		return w;
	}

	static double calm(MethodHandle other) {
		double on, off;

		variable.setTarget(toA);
		on = window(other, 0, WINDOW_SECONDS / 2).rate();
		variable.setTarget(other);
		off = window(other, 0, WINDOW_SECONDS / 2).rate();
		return (on + off) / 2;
	}

	static void print(String name, double value) {
		System.out.printf("%s %.4f%n", name, value);
	}

	static void runRate(String part, MethodHandle other, int rate) {
		double calm = calm(other);
		Window w = window(other, RATES[rate], WINDOW_SECONDS);
		String name = RATE_NAMES[rate];

		calm = (calm + calm(other)) / 2;
		print("reached." + part + "." + name, w.switches / w.ns * 1e9);
		print(part + "." + name, 100 * w.rate() / calm);
		if (other == toB)
			print("balance." + name, Math.max(w.a, w.b) /
			      Math.max(1, Math.min(w.a, w.b)));
	}

	/* Ticks of one switch while the executor runs. */
	static double oneTicks(double hz) {
		final int pairs = 1000;
		long from = System.nanoTime();

		for (int i = 0; i < pairs; i++) {
			variable.setTarget(toB);
			variable.setTarget(toA);
		}
		return (System.nanoTime() - from) / 1e9 * hz / (2 * pairs);
	}

	static void measure(double hz, boolean warm) {
		for (int run = 0; run < RUNS; run++) {
			double one = oneTicks(hz);

			if (!warm)
				print("one.hot", one);
			for (int r = 0; r < RATES.length && !warm; r++) {
				runRate("throughput", toNone, r);
				runRate("swap", toB, r);
			}
			if (warm)
				window(toB, 1e5, 10 * WINDOW_SECONDS);
		}
	}

	public static void main(String[] args) throws Exception {
		double hz = Double.parseDouble(args[0]);
		boolean isInlined = args[1].equals("inlined");
		Thread executor = new Thread(() -> execute(isInlined));

		pin(1);
		executor.setDaemon(true);
		executor.start();
		measure(hz, true);
		measure(hz, false);
		stopping = true;
		executor.join();
	}
}
