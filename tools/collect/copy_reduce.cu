// SPDX-License-Identifier: Apache-2.0
//
// A stand-in for a collective's kernel on one GPU: c thread blocks of 640 threads, each alone on its SM (160 KB of shared
// memory), that read two buffers and write their sum at a set pace, for a time or for a number of bytes.
//
//   nvcc -O3 [-DTHROUGH_REGISTERS] -arch=native -shared -Xcompiler -fPIC -o libcopy_reduce.so copy_reduce.cu
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

namespace {

constexpr int kThreads = 640;                                          // of the largest NCCL block
constexpr int kUnroll = 4;                                             // 16-byte vectors a thread has in flight per buffer
constexpr int kChunkVectors = kThreads * kUnroll;
constexpr unsigned long long kChunkBytes = kChunkVectors * sizeof(float4);
constexpr int kSharedBytes = 160 * 1024;                               // nothing else fits on the SM

struct Request {
  const float4* a;
  const float4* b;
  float4* out;
  unsigned long long chunks_in_buffer;
  unsigned long long chunks_to_move;  // of all blocks together; 0: until the time is over
  unsigned long long run_ns;          // 0: until all is moved
  double ns_per_chunk;                // of one block; 0: as fast as it can
  int move;                           // 0: only hold the SMs
  unsigned* sm;                       // one entry per block
  unsigned long long* moved;          // chunks, one entry per block
  unsigned long long* begin_ns;
  unsigned long long* end_ns;
};

__device__ unsigned long long now_ns() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__device__ unsigned own_sm() {
  unsigned sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  return sm;
}

extern __shared__ float4 staged[];

// Through shared memory: loads into registers are a quarter slower, for as long as the block lives, on an SM where a kernel with
// much shared memory has just run (overlap_landing.py measures both).
__device__ void copy_chunk(const Request& request, unsigned long long chunk) {
  const unsigned long long start = (chunk % request.chunks_in_buffer) * kChunkVectors + threadIdx.x;
#ifdef THROUGH_REGISTERS
  float4 a[kUnroll], b[kUnroll];
#pragma unroll
  for (int i = 0; i < kUnroll; ++i) {
    a[i] = request.a[start + i * kThreads];
    b[i] = request.b[start + i * kThreads];
  }
#pragma unroll
  for (int i = 0; i < kUnroll; ++i) {
    request.out[start + i * kThreads] = make_float4(a[i].x + b[i].x, a[i].y + b[i].y, a[i].z + b[i].z, a[i].w + b[i].w);
  }
#else
  float4* const mine = staged + threadIdx.x;
#pragma unroll
  for (int i = 0; i < kUnroll; ++i) {
    __pipeline_memcpy_async(mine + 2 * i * kThreads, request.a + start + i * kThreads, sizeof(float4));
    __pipeline_memcpy_async(mine + (2 * i + 1) * kThreads, request.b + start + i * kThreads, sizeof(float4));
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
#pragma unroll
  for (int i = 0; i < kUnroll; ++i) {
    const float4 a = mine[2 * i * kThreads];
    const float4 b = mine[(2 * i + 1) * kThreads];
    request.out[start + i * kThreads] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
  }
#endif
}

// One thread of a block looks at the clock; the others wait for it at a barrier.
__global__ void __launch_bounds__(kThreads, 1) copy_reduce(Request request) {
  __shared__ int go_on;
  unsigned long long begin = 0;
  if (threadIdx.x == 0) {
    begin = now_ns();
    request.sm[blockIdx.x] = own_sm();
    request.begin_ns[blockIdx.x] = begin;
  }
  unsigned long long done = 0;
  for (;; ++done) {
    const unsigned long long chunk = blockIdx.x + done * gridDim.x;
    if (threadIdx.x == 0) {
      const double due = static_cast<double>(done) * request.ns_per_chunk;
      unsigned long long elapsed = now_ns() - begin;
      while (static_cast<double>(elapsed) < due && (request.run_ns == 0 || elapsed < request.run_ns)) {
        __nanosleep(100);
        elapsed = now_ns() - begin;
      }
      const bool in_time = request.run_ns == 0 || elapsed < request.run_ns;
      go_on = in_time && (request.chunks_to_move == 0 || chunk < request.chunks_to_move);
    }
    __syncthreads();
    if (!go_on) break;
    if (request.move) {
      copy_chunk(request, chunk);
    } else if (threadIdx.x == 0) {
      __nanosleep(1000);
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    request.moved[blockIdx.x] = request.move ? done : 0;
    request.end_ns[blockIdx.x] = now_ns();
  }
}

// Holds its SM for run_ns, every cluster a little longer or shorter than the next, as computing does.
__global__ void __launch_bounds__(kThreads, 1) hold_clusters(int size, unsigned long long run_ns, unsigned long long* begin_ns,
                                                             unsigned long long* end_ns) {
  if (threadIdx.x != 0) return;
  const unsigned long long begin = now_ns();
  const unsigned long long mine = run_ns + run_ns / 50 * (blockIdx.x / size % 8);
  begin_ns[blockIdx.x] = begin;
  while (now_ns() - begin < mine) __nanosleep(500);
  end_ns[blockIdx.x] = now_ns();
}

}  // namespace

// Clusters of `size` blocks, each block alone on its SM. Returns a cudaError_t.
extern "C" int hold_clusters_launch(int size, int clusters, unsigned long long run_ns, void* begin_ns, void* end_ns, void* stream) {
  cudaError_t code = cudaFuncSetAttribute(hold_clusters, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes);
  if (code != cudaSuccess) return code;
  code = cudaFuncSetAttribute(hold_clusters, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  if (code != cudaSuccess) return code;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = static_cast<unsigned>(size);
  attribute.val.clusterDim.y = 1;
  attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(size * clusters));
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = kSharedBytes;
  config.stream = static_cast<cudaStream_t>(stream);
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, hold_clusters, size, run_ns, static_cast<unsigned long long*>(begin_ns),
                            static_cast<unsigned long long*>(end_ns));
}

extern "C" unsigned long long copy_reduce_chunk_bytes() { return kChunkBytes; }

// gbps: bytes written per nanosecond by all blocks together; 0: as fast as they can; below 0: only hold the SMs.
// Returns a cudaError_t.
extern "C" int copy_reduce_launch(const void* a, const void* b, void* out, unsigned long long buffer_bytes, int blocks, double gbps,
                                  unsigned long long bytes, unsigned long long run_ns, void* sm, void* moved, void* begin_ns, void* end_ns,
                                  void* stream) {
  Request request{};
  request.a = static_cast<const float4*>(a);
  request.b = static_cast<const float4*>(b);
  request.out = static_cast<float4*>(out);
  request.chunks_in_buffer = buffer_bytes / kChunkBytes;
  request.chunks_to_move = (bytes + kChunkBytes - 1) / kChunkBytes;
  request.run_ns = run_ns;
  request.ns_per_chunk = gbps > 0 ? static_cast<double>(kChunkBytes) * blocks / gbps : 0;
  request.move = gbps >= 0;
  request.sm = static_cast<unsigned*>(sm);
  request.moved = static_cast<unsigned long long*>(moved);
  request.begin_ns = static_cast<unsigned long long*>(begin_ns);
  request.end_ns = static_cast<unsigned long long*>(end_ns);
  const cudaError_t allowed = cudaFuncSetAttribute(copy_reduce, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes);
  if (allowed != cudaSuccess) return allowed;
  copy_reduce<<<blocks, kThreads, kSharedBytes, static_cast<cudaStream_t>(stream)>>>(request);
  return cudaGetLastError();
}
