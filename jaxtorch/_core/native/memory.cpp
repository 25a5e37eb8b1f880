// Large blocks for XLA's buffers that are not given back to the system, in place of the C library's.
//
// XLA's CPU client takes the temporary memory of a program from posix_memalign at every run and frees it at the end. The C library maps
// such a block anew each time, and each of its pages is faulted in and zeroed again. Here one range of addresses serves them all: freed
// blocks are joined with their neighbours and used again, the best fitting first. The two functions are replaced in jaxlib's own table
// of imported functions, nowhere else. When a program has been compiled, what is free goes back to the system after all: the next
// programs need blocks of other sizes.
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

namespace {

constexpr size_t kLarge = 64 << 10;       // bytes; what is smaller stays the C library's
constexpr size_t kReserved = 1ul << 38;   // addresses, not memory
constexpr size_t kUnit = 4096;
constexpr size_t kTemporary = 32 << 20;   // bytes, from which on a block may be the temporary memory of a large program
constexpr int kSlots = 8;                 // entries that an imported function may have in the table

const size_t page_size = sysconf(_SC_PAGESIZE);
const size_t machine_memory = sysconf(_SC_PHYS_PAGES) * page_size;

// Never destroyed: XLA frees memory until the very end of the process.
struct Blocks {
  std::mutex mutex;
  char *start, *top;                  // all above `top` is free
  char* touched;                      // all above `touched` has not been used since it went back to the system
  std::map<char*, size_t> free, used;  // and their sizes
  char* largest = nullptr;             // of the blocks in use, among those that were taken since someone wanted to know
  size_t largest_size = 0;
};

Blocks* blocks;

// In a forked process another thread of the parent may have held the lock for ever: what was inherited stays, the rest is the C library's.
bool in_child = false;
void forked() { in_child = true; }

void* take(size_t size) {
  size = (size + kUnit - 1) / kUnit * kUnit;
  std::lock_guard<std::mutex> lock(blocks->mutex);
  auto best = blocks->free.end();
  for (auto it = blocks->free.begin(); it != blocks->free.end(); ++it)
    if (it->second >= size && (best == blocks->free.end() || it->second < best->second)) best = it;
  char* at = blocks->top;
  if (best != blocks->free.end()) {
    at = best->first;
    if (best->second > size) blocks->free[at + size] = best->second - size;
    blocks->free.erase(best);
  } else if (size <= size_t(blocks->start + kReserved - at)) {
    blocks->top += size;
    if (blocks->top > blocks->touched) blocks->touched = blocks->top;
  } else {
    return nullptr;
  }
  blocks->used[at] = size;
  if (size >= kTemporary && size > blocks->largest_size) blocks->largest = at, blocks->largest_size = size;
  return at;
}

void give_back(char* at) {
  std::lock_guard<std::mutex> lock(blocks->mutex);
  const auto it = blocks->used.find(at);
  if (it == blocks->used.end()) abort();  // freed twice
  size_t size = it->second;
  blocks->used.erase(it);
  if (at == blocks->largest) blocks->largest = nullptr;
  auto after = blocks->free.lower_bound(at);
  if (after != blocks->free.end() && at + size == after->first) size += after->second, after = blocks->free.erase(after);
  if (after != blocks->free.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == at) at = before->first, size += before->second, blocks->free.erase(before);
  }
  if (at + size == blocks->top)
    blocks->top = at;
  else
    blocks->free[at] = size;
}

int aligned(void** to, size_t alignment, size_t size) {
  // What is larger than the machine's memory is the C library's to refuse: addresses alone would not run out.
  if (size >= kLarge && size <= machine_memory && alignment <= kUnit && !in_child)
    if (void* found = take(size)) return *to = found, 0;
  return posix_memalign(to, alignment, size);
}

void freed(void* at) {
  if (at < blocks->start || at >= blocks->start + kReserved)
    free(at);
  else if (!in_child)
    give_back((char*)at);
}

void drop(char* at, size_t size) {
  if (size) madvise(at, size, MADV_DONTNEED);
}

// -- jaxlib's table of imported functions ------------------------------------------------------------------

struct Import {
  const char* name;
  void* replacement;
  void** slots[kSlots];
  int count;
};

struct Search {
  Import imports[2] = {{"posix_memalign", (void*)&aligned}, {"free", (void*)&freed}};
  uintptr_t protected_from = 0, protected_until = 0;  // what the loader made read-only
};

int look_into(dl_phdr_info* library, size_t, void* data) {
  const char* slash = strrchr(library->dlpi_name, '/');
  if (strncmp(slash ? slash + 1 : library->dlpi_name, "libjax_common", 13)) return 0;
  Search& search = *(Search*)data;
  const Elf64_Dyn* dynamic = nullptr;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const auto& part = library->dlpi_phdr[i];
    if (part.p_type == PT_DYNAMIC) dynamic = (const Elf64_Dyn*)(library->dlpi_addr + part.p_vaddr);
    if (part.p_type == PT_GNU_RELRO) {
      search.protected_from = library->dlpi_addr + part.p_vaddr;
      search.protected_until = (search.protected_from + part.p_memsz) / page_size * page_size;  // whole pages, as the loader does
    }
  }
  const Elf64_Sym* symbols = nullptr;
  const char* names = nullptr;
  const Elf64_Rela* tables[2] = {};
  size_t sizes[2] = {};
  for (; dynamic && dynamic->d_tag != DT_NULL; ++dynamic) {
    const auto value = dynamic->d_un.d_ptr;
    if (dynamic->d_tag == DT_SYMTAB) symbols = (const Elf64_Sym*)value;
    if (dynamic->d_tag == DT_STRTAB) names = (const char*)value;
    if (dynamic->d_tag == DT_JMPREL) tables[0] = (const Elf64_Rela*)value;
    if (dynamic->d_tag == DT_PLTRELSZ) sizes[0] = value / sizeof(Elf64_Rela);
    if (dynamic->d_tag == DT_RELA) tables[1] = (const Elf64_Rela*)value;
    if (dynamic->d_tag == DT_RELASZ) sizes[1] = value / sizeof(Elf64_Rela);
  }
  if (!symbols || !names) return 1;
  for (int t = 0; t < 2; ++t)
    for (size_t i = 0; tables[t] && i < sizes[t]; ++i) {
      const auto kind = ELF64_R_TYPE(tables[t][i].r_info);
      if (kind != R_X86_64_JUMP_SLOT && kind != R_X86_64_GLOB_DAT) continue;
      const char* name = names + symbols[ELF64_R_SYM(tables[t][i].r_info)].st_name;
      for (Import& import : search.imports)
        if (!strcmp(name, import.name) && import.count < kSlots) import.slots[import.count++] = (void**)(library->dlpi_addr + tables[t][i].r_offset);
    }
  return 1;
}

bool replace(const Search& search, void** slot, void* by) {
  const uintptr_t page = (uintptr_t)slot / page_size * page_size;
  const bool locked = (uintptr_t)slot >= search.protected_from && (uintptr_t)slot < search.protected_until;
  if (locked && mprotect((void*)page, (uintptr_t)(slot + 1) - page, PROT_READ | PROT_WRITE)) return false;
  __atomic_store_n(slot, by, __ATOMIC_RELEASE);
  if (locked) mprotect((void*)page, (uintptr_t)(slot + 1) - page, PROT_READ);
  return true;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int jaxtorch_native_keep_memory(int huge_pages) {
  if (blocks) return 1;
  Search search;
  dl_iterate_phdr(&look_into, &search);
  for (const Import& import : search.imports)
    if (!import.count) return 0;
  void* start = mmap(nullptr, kReserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return 0;
  madvise(start, kReserved, MADV_DONTDUMP);
  if (huge_pages) madvise(start, kReserved, MADV_HUGEPAGE);
  blocks = new Blocks{{}, (char*)start, (char*)start, (char*)start};
  pthread_atfork(nullptr, nullptr, &forked);
  for (int i = 1; i >= 0; --i)  // `free` first
    for (int n = 0; n < search.imports[i].count; ++n)
      if (!replace(search, search.imports[i].slots[n], search.imports[i].replacement)) return 0;
  return 1;
}

// Give the pages of all free blocks back to the system; the addresses stay.
extern "C" __attribute__((visibility("default"))) void jaxtorch_native_release_memory() {
  if (!blocks || in_child) return;
  std::lock_guard<std::mutex> lock(blocks->mutex);
  for (const auto& [at, size] : blocks->free) drop(at, size);
  drop(blocks->top, blocks->touched - blocks->top);
  blocks->touched = blocks->top;
}

// Is the largest block gone that was taken since the last call with `from_now`?
extern "C" __attribute__((visibility("default"))) int jaxtorch_native_largest_is_free(int from_now) {
  if (!blocks || in_child) return 1;
  std::lock_guard<std::mutex> lock(blocks->mutex);
  const bool gone = !blocks->largest;
  if (from_now) blocks->largest = nullptr, blocks->largest_size = 0;
  return gone;
}
