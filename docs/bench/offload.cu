#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e6 + t.tv_nsec * 1e-3; }
#define REPS 200
#define TIME(name, body) do { for (int w_ = 0; w_ < 5; w_++) { body; } double t_ = now(); for (int r_ = 0; r_ < REPS; r_++) { body; cudaDeviceSynchronize(); } printf("%-28s %10.2f us\n", name, (now() - t_) / REPS); } while (0)
#define TIME_QUEUED(name, body) do { for (int w_ = 0; w_ < 5; w_++) { body; } cudaDeviceSynchronize(); double t_ = now(); for (int r_ = 0; r_ < REPS; r_++) { body; } cudaDeviceSynchronize(); printf("%-28s %10.2f us\n", name " (queued)", (now() - t_) / REPS); } while (0)
__global__ void tiny(float *a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] += 1.0f; }
__global__ void axpy(float *y, const float *x, float s, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += s * x[i]; }
__global__ void sumk(const float *x, int n, double *out) {
  double s = 0; for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += x[i];
  for (int o = 16; o; o >>= 1) s += __shfl_down_sync(~0u, s, o);
  __shared__ double w[32]; if (threadIdx.x % 32 == 0) w[threadIdx.x / 32] = s; __syncthreads();
  if (threadIdx.x < 32) { s = threadIdx.x < blockDim.x / 32 ? w[threadIdx.x] : 0; for (int o = 16; o; o >>= 1) s += __shfl_down_sync(~0u, s, o); if (!threadIdx.x) atomicAdd(out, s); }
}
__global__ void stencil(float *out, const float *in, int h, int w) { int j = blockIdx.x * blockDim.x + threadIdx.x + 1, i = blockIdx.y * blockDim.y + threadIdx.y + 1; if (i < h - 1 && j < w - 1) out[i * w + j] = 0.25f * (in[(i - 1) * w + j] + in[(i + 1) * w + j] + in[i * w + j - 1] + in[i * w + j + 1]); }
#define R 7
#define B 256
__global__ void tile(const int *in, int *out) { __shared__ int t[B + 2 * R]; int l = threadIdx.x, g = blockIdx.x * B + l; t[l + R] = in[g + R]; if (l < R) { t[l] = in[g]; t[l + R + B] = in[g + R + B]; } __syncthreads(); int s = 0; for (int o = -R; o <= R; o++) s += t[l + R + o]; out[g] = s; }
__global__ void nested(const int *in, int *out, int cols) { int base = blockIdx.x * cols; for (int j = threadIdx.x; j < cols; j += blockDim.x) out[base + j] = in[base + j] * 2; }
int main() {
  int n = 1 << 24, h = 4096, w = 4096, m = 1 << 26; float *x, *y; int *a, *b; double *s;
  cudaMalloc(&x, sizeof(float) * n); cudaMalloc(&y, sizeof(float) * n); cudaMalloc(&a, sizeof(int) * (m + 2 * R)); cudaMalloc(&b, sizeof(int) * m); cudaMalloc(&s, 8);
  cudaMemset(x, 0, 4L * n); cudaMemset(y, 0, 4L * n); cudaMemset(a, 0, 4L * m);
  TIME("launch, 1024 elements", (tiny<<<8, 128>>>(y, 1024)));
  TIME_QUEUED("launch, 1024 elements", (tiny<<<8, 128>>>(y, 1024)));
  TIME("axpy 2^24 floats", (axpy<<<n / 256, 256>>>(y, x, 2.0f, n)));
  TIME_QUEUED("axpy 2^24 floats", (axpy<<<n / 256, 256>>>(y, x, 2.0f, n)));
  double r; TIME("sum 2^24 floats", (r = 0, cudaMemcpy(s, &r, 8, cudaMemcpyHostToDevice), sumk<<<1056, 256>>>(x, n, s), cudaMemcpy(&r, s, 8, cudaMemcpyDeviceToHost)));
  TIME("sum 2^20 floats", (r = 0, cudaMemcpy(s, &r, 8, cudaMemcpyHostToDevice), sumk<<<1056, 256>>>(x, 1 << 20, s), cudaMemcpy(&r, s, 8, cudaMemcpyDeviceToHost)));
  static float host[1024]; TIME("update to, 4 KiB", cudaMemcpy(x, host, 4096, cudaMemcpyHostToDevice));
  TIME("stencil 4096x4096 collapse(2)", (stencil<<<dim3(128, 512), dim3(32, 8)>>>(y, x, h, w)));
  TIME_QUEUED("stencil 4096x4096 collapse(2)", (stencil<<<dim3(128, 512), dim3(32, 8)>>>(y, x, h, w)));
  TIME("tile stencil 2^26 ints", (tile<<<m / B, B>>>(a, b)));
  TIME_QUEUED("tile stencil 2^26 ints", (tile<<<m / B, B>>>(a, b)));
  TIME("rows 8192 x 2048", (nested<<<8192, 256>>>(a, b, 2048)));
  TIME_QUEUED("rows 8192 x 2048", (nested<<<8192, 256>>>(a, b, 2048)));
}
