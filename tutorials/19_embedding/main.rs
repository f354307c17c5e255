// rustc -O main.rs -L . -l static=net -l pthread -l m -o main        (net.a under the name libnet.a)
use std::ffi::c_void;

extern "C" {
    fn net(x: *const f32, y: *mut f32, workspace: *mut c_void, threads: i64, profile: *mut i64) -> i32;
    fn tvmlite_get_num_threads() -> i32;
}

#[repr(align(64))]
struct Workspace([u8; 1 << 16]);

fn run(x: &[f32; 3 * 8], workspace: &mut Workspace) -> Result<[f32; 3 * 4], i32> {
    let mut y = [0.0; 3 * 4];
    let scratch = workspace.0.as_mut_ptr().cast();
    let threads = i64::from(unsafe { tvmlite_get_num_threads() });
    match unsafe { net(x.as_ptr(), y.as_mut_ptr(), scratch, threads, std::ptr::null_mut()) } {
        0 => Ok(y),
        code => Err(code),
    }
}

fn main() -> Result<(), i32> {
    let x: [f32; 3 * 8] = std::array::from_fn(|i| i as f32 / 10.0);
    for value in run(&x, &mut Workspace([0; 1 << 16]))? {
        println!("{value:.6}");
    }
    Ok(())
}
