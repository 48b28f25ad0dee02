// panics: caught, thrown on, past what is dropped, in a thread, and an error of a library's.
use std::panic;
use std::sync::atomic::{AtomicI32, Ordering};

static ALIVE: AtomicI32 = AtomicI32::new(0);

struct Noisy;

impl Noisy {
    fn new() -> Noisy {
        ALIVE.fetch_add(1, Ordering::Relaxed);
        Noisy
    }
}

impl Drop for Noisy {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

#[no_mangle]
#[inline(never)]
pub fn panics(i: i32) -> i32 {
    let _a = Noisy::new();

    if i % 2 == 0 {
        panic!("even {}", i);
    }
    let v = vec![1, 2, 3];
    v[i as usize % 3 + 1]
}

#[no_mangle]
#[inline(never)]
pub fn passes(i: i32, depth: i32) -> i32 {
    let _a = Noisy::new();

    if depth > 0 {
        passes(i, depth - 1) + 1
    } else {
        panics(i)
    }
}

#[no_mangle]
#[inline(never)]
pub fn catches(i: i32) -> i32 {
    let _a = Noisy::new();

    match panic::catch_unwind(|| passes(i, 4)) {
        Ok(n) => n,
        Err(e) => match e.downcast_ref::<String>() {
            Some(s) => s.len() as i32 * 100,
            None => -1,
        },
    }
}

#[no_mangle]
#[inline(never)]
pub fn resumes(i: i32) -> i32 {
    let outer = panic::catch_unwind(|| {
        let inner = panic::catch_unwind(|| passes(i, 1));

        match inner {
            Ok(n) => n,
            Err(e) => panic::resume_unwind(e),
        }
    });
    outer.unwrap_or(7)
}

fn main() {
    let mut sum = 0;

    panic::set_hook(Box::new(|_| {}));
    for i in 0..60 {
        sum += catches(i) + resumes(i + 1);
    }
    let t = std::thread::spawn(|| passes(4, 3));
    println!("failed in a thread: {}", t.join().is_err());
    println!("sum {}, alive {}", sum, ALIVE.load(Ordering::Relaxed));
    println!("count panics 121");
    println!("count catches 60");
    println!("count resumes 60");
}
