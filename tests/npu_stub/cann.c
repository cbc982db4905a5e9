/* The part of CANN's runtime that torch_npu calls while it is imported and while it allocates and copies.
   Device memory is host memory; streams and events do nothing. No operator is here: device.py has them.
   What torch_npu links to and is not below is generated beside it (libraries.py), as a function that returns 0. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define OK 0
#define OUT_OF_MEMORY 207001
#define GIB (1ull << 30)

typedef int Error;
typedef void *Handle;

static _Thread_local int current;

static int from_environment(const char *name, int otherwise) {
  const char *value = getenv(name);
  return value ? atoi(value) : otherwise;
}

/* devices */
Error aclrtSetDevice(int device) { current = device; return OK; }
Error aclrtGetDevice(int *device) { *device = current; return OK; }
Error aclrtGetDeviceCount(uint32_t *count) { *count = from_environment("STUB_NPU_COUNT", 8); return OK; }
const char *aclrtGetSocName(void) { return "Ascend910B3"; }
const char *aclGetRecentErrMsg(void) { return "the stand-in for CANN has no text for this error"; }
Error aclrtGetCurrentContext(Handle *context) { static int contexts[64]; *context = &contexts[current]; return OK; }
Error aclrtDeviceCanAccessPeer(int *can, int device, int peer) { (void)device; (void)peer; *can = 1; return OK; }
Error aclGetDeviceCapability(uint32_t device, int what, int64_t *value) { (void)device; (void)what; *value = 0; return OK; }
Error aclrtDeviceGetBareTgid(int32_t *pid) { *pid = 1; return OK; }
Error aclrtGetPrimaryCtxState(int device, uint32_t *flags, int32_t *active) {
  (void)device;
  if (flags) *flags = 0;
  if (active) *active = 1;
  return OK;
}

/* memory */
static Error allocate(void **address, size_t size) {
  return posix_memalign(address, 512, size ? size : 512) ? OUT_OF_MEMORY : OK;
}
Error aclrtMalloc(void **address, size_t size, int policy) { (void)policy; return allocate(address, size); }
Error aclrtMallocAlign32(void **address, size_t size, int policy) { (void)policy; return allocate(address, size); }
Error aclrtMallocHost(void **address, size_t size) { return allocate(address, size); }
Error aclrtFree(void *address) { free(address); return OK; }
Error aclrtFreeHost(void *address) { free(address); return OK; }
Error aclrtMemcpy(void *to, size_t room, const void *from, size_t size, int kind) {
  (void)room; (void)kind;
  memcpy(to, from, size);
  return OK;
}
Error aclrtMemcpyAsync(void *to, size_t room, const void *from, size_t size, int kind, Handle stream) {
  (void)stream;
  return aclrtMemcpy(to, room, from, size, kind);
}
Error aclrtMemset(void *at, size_t room, int value, size_t size) { (void)room; memset(at, value, size); return OK; }
Error aclrtMemsetAsync(void *at, size_t room, int value, size_t size, Handle stream) {
  (void)stream;
  return aclrtMemset(at, room, value, size);
}
Error aclrtGetMemInfo(int kind, size_t *available, size_t *total) {
  (void)kind;
  *available = 60 * GIB;
  *total = 64 * GIB;
  return OK;
}
Error aclrtHostRegister(void *host, uint64_t size, int kind, void **device) {
  (void)size; (void)kind;
  *device = host;
  return OK;
}
/* no virtual memory: with expandable segments torch_npu must find that out by itself */
Error aclrtReserveMemAddress(void **address, size_t size) { (void)address; (void)size; return 207000; }
Error aclrtMallocPhysical(Handle *handle, size_t size) { (void)handle; (void)size; return 207000; }

/* streams and events */
static Error handle(Handle *made) { *made = malloc(64); return OK; }
Error aclrtCreateStream(Handle *stream) { return handle(stream); }
Error aclrtCreateStreamWithConfig(Handle *stream, uint32_t priority, uint32_t flags) {
  (void)priority; (void)flags;
  return handle(stream);
}
Error aclrtDestroyStream(Handle stream) { free(stream); return OK; }
Error aclrtCreateEventWithFlag(Handle *event, uint32_t flags) { (void)flags; return handle(event); }
Error aclrtCreateEventExWithFlag(Handle *event, uint32_t flags) { (void)flags; return handle(event); }
Error aclrtDestroyEvent(Handle event) { free(event); return OK; }
Error aclrtEventElapsedTime(float *ms, Handle from, Handle to) { (void)from; (void)to; *ms = 0; return OK; }
Error aclrtStreamQuery(Handle stream, int *done) { (void)stream; *done = 0; return OK; }
Error aclrtQueryEventStatus(Handle event, int *done) { (void)event; *done = 1; return OK; }
Error aclrtQueryEventWaitStatus(Handle event, int *done) { (void)event; *done = 1; return OK; }
Error aclQueryEventRecordedStatus(Handle event, int *done) { (void)event; *done = 1; return OK; }
Error aclrtStreamGetId(Handle stream, int32_t *number) { (void)stream; *number = 0; return OK; }
Error aclrtGetStreamOverflowSwitch(Handle stream, uint32_t *on) { (void)stream; *on = 0; return OK; }
Error aclrtGetSysParamOpt(int option, int64_t *value) { (void)option; *value = 0; return OK; }

/* looked up by name while running, so that no list of undefined symbols has them */
#define NOTHING(name) Error name(void) { return OK; }
NOTHING(aclrtSetDeviceSatMode) NOTHING(aclrtSetOpWaitTimeout) NOTHING(aclrtSetOpExecuteTimeOut)
NOTHING(aclrtSynchronizeDevice) NOTHING(aclrtSynchronizeDeviceWithTimeout) NOTHING(aclrtSynchronizeStreamWithTimeout)
NOTHING(aclrtPeekAtLastError) NOTHING(aclrtGetLastError) NOTHING(aclrtSetStreamFailureMode)
NOTHING(aclrtSetStreamAttribute) NOTHING(aclSetCompileopt) NOTHING(aclrtCtxSetSysParamOpt)
NOTHING(aclrtSetSysParamOpt) NOTHING(aclrtSetStreamOverflowSwitch) NOTHING(aclrtLaunchCallback)
NOTHING(aclrtLaunchHostFunc) NOTHING(aclrtSubscribeReport) NOTHING(aclrtUnSubscribeReport)
NOTHING(aclrtDestroyStreamForce) NOTHING(aclrtHostUnregister)
