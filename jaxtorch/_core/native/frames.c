/* What stands on the stack of a Python frame that is waiting for a call: `standing(frame, place)`, the object at that place above its
   variables, or None. `run/except_handlers.py` asks for the `__exit__` of a `with` whose block the frame is in: the exception table says where that
   stands. Part of the recorder, in a file of its own because Python's internal headers change what its public ones declare. */

#define PY_SSIZE_T_CLEAN
#define Py_BUILD_CORE 1
#include <Python.h>

#if defined(__has_include) && PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030f0000
#if __has_include("internal/pycore_frame.h")
#define KNOWS_FRAMES 1
#include "internal/pycore_frame.h"
#if PY_VERSION_HEX >= 0x030e0000
#include "internal/pycore_interpframe.h"
#endif
#endif
#endif

PyObject *jaxtorch_standing(PyObject *self, PyObject *args) {
  PyObject *frame;
  Py_ssize_t place;
  if (!PyArg_ParseTuple(args, "O!n", &PyFrame_Type, &frame, &place)) return NULL;
#ifdef KNOWS_FRAMES
  PyCodeObject *code = PyFrame_GetCode((PyFrameObject *)frame);
  const Py_ssize_t variables = code->co_nlocalsplus, most = code->co_stacksize;
  Py_DECREF(code);
  struct _PyInterpreterFrame *inner = ((PyFrameObject *)frame)->f_frame;
  if (!inner || place < 0 || place >= most) Py_RETURN_NONE;
#if PY_VERSION_HEX >= 0x030e0000
  const _PyStackRef found = inner->localsplus[variables + place];
  PyObject *object = PyStackRef_IsNull(found) ? NULL : PyStackRef_AsPyObjectBorrow(found);
#else
  PyObject *object = inner->localsplus[variables + place];
#endif
  if (object) return Py_NewRef(object);
#endif
  Py_RETURN_NONE;
}

const int jaxtorch_knows_frames =
#ifdef KNOWS_FRAMES
    1;
#else
    0;
#endif
