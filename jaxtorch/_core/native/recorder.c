/* The common case of recording in C: `record` is `program.emit` and `finish` is `tensor.finish` where nothing unusual is going on.
   Whatever else it may be (no program yet, a tracer, another device's value, checks, hooks, forward mode, a second thread), the answer
   is None with nothing changed, and the Python code does it. An option, as the kernels beside it are. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#define VERSION 10
#define MOST_OPERANDS 64
#define MOST_TYPES 8

/* Where the slots of the engine's classes lie; from their descriptors. */
static struct { Py_ssize_t aval, array, program, slot, guard, owned, pack, fails; } value_at;
static struct { Py_ssize_t slot, code, values, inputs, packed, checks, state, pause, begun; } program_at;
static struct { Py_ssize_t program, closing, ran, is_meta; } device_at;
static struct { Py_ssize_t slot, checks, out_avals; } kernel_at;
static struct { Py_ssize_t kernel, pack, forms, out_float; } entry_at;
static struct { Py_ssize_t kernel, roots, kept, wanted, n_out, has_extra, node_type; } form_at;
static struct { Py_ssize_t form, ends, indices, saved, own, seq, pre_hooks, post_hooks, node_pre_hooks, retains; } node_at;
static struct { Py_ssize_t value, alias, node, index, rg, grad, layout, ver, hooks, post_hooks; } tensor_at;

static PyTypeObject *Value, *Program, *Kernel, *Entry, *Form, *Tensor, *Node, *DeviceSlot;
static PyObject *plain[MOST_TYPES], *threads, *capture_dict, *emit, *emit_code, *watch, *finished, *inferring, *is_inference, *state, *counter, *hostmode_dict;
static PyObject *s_active, *s_grad, *s_inference, *s_inferred, *zero, *minus_one;
static Py_ssize_t plain_count;

#define SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))

static void put(PyObject *object, Py_ssize_t offset, PyObject *value) { /* takes the reference; into a slot that is empty */
  SLOT(object, offset) = value;
}

static int is_plain(PyObject *array) {
  PyObject *type = (PyObject *)Py_TYPE(array);
  for (Py_ssize_t i = 0; i < plain_count; ++i)
    if (plain[i] == type) return 1;
  return 0;
}

/* The values of an instruction, if all can enter `program` as they are; the slots they have or get. -1: they cannot. */
static Py_ssize_t entering(PyObject *program, PyObject *values, PyObject **fresh, Py_ssize_t *packed) {
  Py_ssize_t n = PyList_GET_SIZE(values), found = 0;
  *packed = 0;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject *v = PyList_GET_ITEM(values, i);
    if (Py_TYPE(v) != Value) return -1;
    PyObject *known = SLOT(v, value_at.program);
    if (known == program) continue;
    if (known != Py_None) return -1;
    PyObject *array = SLOT(v, value_at.array), *pack = SLOT(v, value_at.pack);
    if (!array || !pack) return -1;
    Py_ssize_t k = 0;
    while (k < found && fresh[k] != v) ++k;
    if (k < found) continue;
    if (array == Py_None || !is_plain(array)) {
      if (pack == Py_None || PyDict_GetItemWithError(capture_dict, s_active) != Py_None) return -1;
      ++*packed;
    }
    fresh[found++] = v;
  }
  return found;
}

static PyObject *new_value(PyObject *aval, PyObject *program) {
  PyObject *v = Value->tp_alloc(Value, 0);
  if (!v) return NULL;
  put(v, value_at.aval, Py_NewRef(aval));
  put(v, value_at.array, Py_NewRef(Py_None));
  put(v, value_at.program, Py_NewRef(program));
  put(v, value_at.slot, Py_NewRef(minus_one));
  put(v, value_at.guard, Py_NewRef(Py_None));
  put(v, value_at.owned, Py_NewRef(Py_False));
  put(v, value_at.pack, Py_NewRef(Py_None));
  return v;
}

static void set(PyObject *object, Py_ssize_t offset, PyObject *value) { /* takes the reference; the slot's old one goes */
  PyObject *old = SLOT(object, offset);
  SLOT(object, offset) = value;
  Py_XDECREF(old);
}

/* Append `value` and its place in `known` to these lists. */
static int enter(PyObject *v, PyObject *known, PyObject *code) {
  PyObject *slot = PyLong_FromSsize_t(PyList_GET_SIZE(known));
  if (!slot) return -1;
  if (PyList_Append(known, v) < 0 || (code && PyList_Append(code, slot) < 0)) {
    Py_DECREF(slot);
    return -1;
  }
  set(v, value_at.slot, slot);
  return 0;
}

/* Take what was begun back: no half of an instruction stays. */
static void undo(PyObject *code, Py_ssize_t mark, PyObject *known, Py_ssize_t first, PyObject *inputs, Py_ssize_t before) {
  PyObject *type, *error, *traceback;
  PyErr_Fetch(&type, &error, &traceback);
  for (Py_ssize_t i = first; i < PyList_GET_SIZE(known); ++i)
    set(PyList_GET_ITEM(known, i), value_at.program, Py_NewRef(Py_None));
  PyList_SetSlice(inputs, before, PyList_GET_SIZE(inputs), NULL);
  PyList_SetSlice(known, first, PyList_GET_SIZE(known), NULL);
  PyList_SetSlice(code, mark, PyList_GET_SIZE(code), NULL);
  PyErr_Restore(type, error, traceback);
}

/* May a program begin on this device as `emit` begins one, with nothing to be done first? */
static int may_begin(PyObject *slot) {
  return SLOT(slot, device_at.closing) == Py_None && SLOT(slot, device_at.is_meta) == Py_False &&
         PyDict_GetItemWithError(hostmode_dict, s_active) == Py_False;
}

/* The outputs of an instruction, recorded; NULL without an error set where it is not one of the common case. */
static PyObject *recorded(PyObject *kernel, PyObject *values) {
  if (Py_TYPE(kernel) != Kernel || !PyList_CheckExact(values) || PyList_GET_SIZE(values) > MOST_OPERANDS) return NULL;
  PyObject *slot = SLOT(kernel, kernel_at.slot), *checks = SLOT(kernel, kernel_at.checks), *avals = SLOT(kernel, kernel_at.out_avals);
  if (!checks || !avals || !slot || Py_TYPE(slot) != DeviceSlot || PyTuple_GET_SIZE(checks) || PyDict_GET_SIZE(threads) > 1) return NULL;
  PyObject *program = SLOT(slot, device_at.program);
  if (program == Py_None) {
    if (!may_begin(slot) || !(program = PyObject_CallOneArg((PyObject *)Program, slot))) return NULL;
    if (SLOT(slot, device_at.program) != Py_None) { /* a finalizer has begun another */
      Py_DECREF(program);
      return NULL;
    }
    set(slot, device_at.program, Py_NewRef(program));
  } else {
    if (!program || Py_TYPE(program) != Program) return NULL;
    Py_INCREF(program);
  }
  /* First what may run the garbage collector, and so anything. */
  Py_ssize_t made = PyTuple_GET_SIZE(avals);
  PyObject *outs = PyList_New(made), *fresh[MOST_OPERANDS];
  for (Py_ssize_t i = 0; outs && i < made; ++i) {
    PyObject *v = new_value(PyTuple_GET_ITEM(avals, i), program);
    if (v)
      PyList_SET_ITEM(outs, i, v);
    else
      Py_CLEAR(outs);
  }
  if (!outs) {
    Py_DECREF(program);
    return NULL;
  }
  PyObject *code = SLOT(program, program_at.code), *known = SLOT(program, program_at.values), *inputs = SLOT(program, program_at.inputs);
  Py_ssize_t mark = PyList_GET_SIZE(code), first = PyList_GET_SIZE(known), before = PyList_GET_SIZE(inputs), packed, entered = -1;
  if (SLOT(slot, device_at.program) == program && mark < PyLong_AsSsize_t(SLOT(program, program_at.pause)))
    entered = entering(program, values, fresh, &packed);
  if (entered < 0) {
    for (Py_ssize_t i = 0; i < made; ++i) set(PyList_GET_ITEM(outs, i), value_at.program, Py_NewRef(Py_None));
    Py_DECREF(outs);
    Py_DECREF(program);
    return NULL;
  }
  /* From here to the end only memory can be wanting. */
  int fine = PyList_Append(code, kernel) == 0;
  for (Py_ssize_t i = 0; fine && i < PyList_GET_SIZE(values); ++i) {
    PyObject *v = PyList_GET_ITEM(values, i);
    if (SLOT(v, value_at.program) == program) {
      fine = PyList_Append(code, SLOT(v, value_at.slot)) == 0;
    } else {
      fine = enter(v, known, code) == 0;
      if (fine) set(v, value_at.program, Py_NewRef(program));
      fine = fine && PyList_Append(inputs, v) == 0;
    }
  }
  for (Py_ssize_t i = 0; fine && i < made; ++i) fine = enter(PyList_GET_ITEM(outs, i), known, NULL) == 0;
  if (fine && packed) {
    PyObject *sum = PyLong_FromSsize_t(PyLong_AsSsize_t(SLOT(program, program_at.packed)) + packed);
    fine = sum != NULL;
    if (fine) set(program, program_at.packed, sum);
  }
  if (!fine) {
    undo(code, mark, known, first, inputs, before);
    Py_CLEAR(outs);
  }
  Py_DECREF(program);
  return outs;
}

static PyObject *given(PyObject *found) {
  if (!found && !PyErr_Occurred()) Py_RETURN_NONE;
  return found;
}

static PyObject *record(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  if (n != 2) {
    PyErr_SetString(PyExc_TypeError, "record() takes a kernel and its values");
    return NULL;
  }
  return given(recorded(args[0], args[1]));
}

static int is_list(PyObject *x) { return PyTuple_CheckExact(x) || PyList_CheckExact(x); }

static PyObject *new_tensor(PyObject *value) {
  PyObject *t = Tensor->tp_alloc(Tensor, 0);
  if (!t) return NULL;
  put(t, tensor_at.value, Py_NewRef(value));
  put(t, tensor_at.alias, Py_NewRef(Py_None));
  put(t, tensor_at.node, Py_NewRef(Py_None));
  put(t, tensor_at.grad, Py_NewRef(Py_None));
  put(t, tensor_at.layout, Py_NewRef(Py_None));
  put(t, tensor_at.hooks, Py_NewRef(Py_None));
  put(t, tensor_at.post_hooks, Py_NewRef(Py_None));
  put(t, tensor_at.index, Py_NewRef(zero));
  put(t, tensor_at.ver, Py_NewRef(zero));
  put(t, tensor_at.rg, Py_NewRef(Py_False));
  return t;
}

/* What a node saves: for each pair ("in", i), ("out", j) or ("extra", k) of `places` a value, appended to `saved`. */
static int save(PyObject *saved, PyObject *places, PyObject *values, PyObject *outs, Py_ssize_t extra_from) {
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(places); ++i) {
    PyObject *place = PySequence_Fast_GET_ITEM(places, i), *kind = PyTuple_GET_ITEM(place, 0), *from = outs;
    Py_ssize_t k = PyLong_AsSsize_t(PyTuple_GET_ITEM(place, 1));
    const Py_UCS4 letter = PyUnicode_READ_CHAR(kind, 0);
    if (letter == 'i')
      from = values;
    else if (letter == 'e')
      k += extra_from;
    if (k < 0 || k >= PyList_GET_SIZE(from)) {
      PyErr_SetString(PyExc_IndexError, "a saved value's place");
      return -1;
    }
    if (PyList_Append(saved, PyList_GET_ITEM(from, k)) < 0) return -1;
  }
  return 0;
}

/* The node of an instruction with a gradient, as `tensor._graded` makes it. */
static PyObject *new_node(PyObject *form, PyObject *values, PyObject *outs, PyObject *operands) {
  PyObject *wanted = SLOT(form, form_at.wanted), *indices = NULL, *saved = NULL, *node = NULL, *seq = NULL;
  Py_ssize_t n = PyTuple_GET_SIZE(wanted), n_out = PyLong_AsSsize_t(SLOT(form, form_at.n_out));
  PyObject *ends = PyList_New(n);
  if (!ends) return NULL;
  int later = 0;
  for (Py_ssize_t j = 0; j < n; ++j) {
    PyObject *x = PySequence_Fast_GET_ITEM(operands, PyLong_AsSsize_t(PyTuple_GET_ITEM(wanted, j)));
    PyObject *its = SLOT(x, tensor_at.node);
    PyList_SET_ITEM(ends, j, Py_NewRef(its == Py_None ? x : its));
    later = later || (its != Py_None && SLOT(x, tensor_at.index) != zero);
  }
  if (later) {
    indices = PyTuple_New(n);
    if (!indices) goto done;
    for (Py_ssize_t j = 0; j < n; ++j) {
      PyObject *x = PySequence_Fast_GET_ITEM(operands, PyLong_AsSsize_t(PyTuple_GET_ITEM(wanted, j)));
      PyTuple_SET_ITEM(indices, j, Py_NewRef(SLOT(x, tensor_at.node) == Py_None ? zero : SLOT(x, tensor_at.index)));
    }
  }
  PyObject *roots = SLOT(form, form_at.roots), *kept = SLOT(form, form_at.kept);
  const int has_extra = PyObject_IsTrue(SLOT(form, form_at.has_extra)) > 0;
  if (PySequence_Fast_GET_SIZE(roots) || has_extra || PySequence_Fast_GET_SIZE(kept)) {
    saved = PyList_New(0);
    if (!saved || save(saved, roots, values, outs, n_out) < 0) goto done;
    if (has_extra && PyList_SetSlice(saved, PyList_GET_SIZE(saved), PyList_GET_SIZE(saved), values) < 0) goto done;
    if (save(saved, kept, values, outs, 0) < 0) goto done;
  } else {
    saved = PyTuple_New(0);
    if (!saved) goto done;
  }
  seq = PyIter_Next(counter);
  if (!seq) goto done;
  PyTypeObject *type = (PyTypeObject *)SLOT(form, form_at.node_type);
  node = type->tp_alloc(type, 0);
  if (!node) goto done;
  put(node, node_at.form, Py_NewRef(form));
  put(node, node_at.saved, Py_NewRef(saved));
  put(node, node_at.ends, Py_NewRef(ends));
  put(node, node_at.indices, Py_NewRef(indices ? indices : Py_None));
  put(node, node_at.own, Py_NewRef(Py_None));
  put(node, node_at.seq, Py_NewRef(seq));
  put(node, node_at.pre_hooks, Py_NewRef(Py_None));
  put(node, node_at.post_hooks, Py_NewRef(Py_None));
  put(node, node_at.node_pre_hooks, Py_NewRef(Py_None));
  put(node, node_at.retains, Py_NewRef(Py_None));
done:
  Py_DECREF(ends);
  Py_XDECREF(indices);
  Py_XDECREF(saved);
  Py_XDECREF(seq);
  return node;
}

static int state_says(PyObject *name) {
  PyObject *found = PyObject_GetAttr(state, name);
  if (!found) return -1;
  const int on = PyObject_IsTrue(found);
  Py_DECREF(found);
  return on;
}

/* Does the instruction get a node? 1, 0, or -1 where this is not the place to tell. */
static int is_graded(PyObject *entry, PyObject *mask) {
  if (mask == zero) return 0;
  const int on = state_says(s_grad);
  return on <= 0 ? on : PySequence_Contains(SLOT(entry, entry_at.out_float), Py_True);
}

/* Need nobody look at a node of this form? `watch` names no reason, or only that there are inference tensors, none of them saved here. */
static int unwatched(PyObject *form, PyObject *operands) {
  const Py_ssize_t reasons = PyList_GET_SIZE(watch);
  if (!reasons) return 1;
  if (reasons > 1 || !PyUnicode_Check(PyList_GET_ITEM(watch, 0)) || PyUnicode_Compare(PyList_GET_ITEM(watch, 0), s_inference)) return 0;
  PyObject *roots = SLOT(form, form_at.roots);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(roots); ++i) {
    PyObject *place = PySequence_Fast_GET_ITEM(roots, i);
    if (PyUnicode_READ_CHAR(PyTuple_GET_ITEM(place, 0), 0) != 'i') continue;
    Py_ssize_t k = PyLong_AsSsize_t(PyTuple_GET_ITEM(place, 1));
    if (k < 0 || k >= PySequence_Fast_GET_SIZE(operands)) return 0;
    PyObject *x = PySequence_Fast_GET_ITEM(operands, k);
    if (!PyObject_TypeCheck(x, Tensor)) continue;
    PyObject *inferred = PyObject_CallOneArg(is_inference, x);
    if (!inferred) return -1;
    Py_DECREF(inferred);
    if (inferred != Py_False) return 0;
  }
  return 1;
}

/* The form for these inputs, if one has been made and `new_node` can make its nodes of these operands. */
static PyObject *form_of(PyObject *entry, PyObject *mask, PyObject *operands) {
  PyObject *form = PyDict_GetItemWithError(SLOT(entry, entry_at.forms), mask);
  if (!form || !PyObject_TypeCheck(form, Form) || PyList_GET_SIZE(finished) || !is_list(operands)) return NULL;
  PyObject *wanted = SLOT(form, form_at.wanted), *type = SLOT(form, form_at.node_type);
  if (!PyType_Check(type) || ((PyTypeObject *)type)->tp_base != Node || !is_list(SLOT(form, form_at.roots)) || !is_list(SLOT(form, form_at.kept)))
    return NULL;
  for (Py_ssize_t j = 0; j < PyTuple_GET_SIZE(wanted); ++j) {
    Py_ssize_t i = PyLong_AsSsize_t(PyTuple_GET_ITEM(wanted, j));
    if (i >= PySequence_Fast_GET_SIZE(operands)) return NULL;
    PyObject *x = PySequence_Fast_GET_ITEM(operands, i);
    if (!PyObject_TypeCheck(x, Tensor) || !SLOT(x, tensor_at.node) || !SLOT(x, tensor_at.index)) return NULL;
  }
  return form;
}

static PyObject *finished_tensor(PyObject *entry, PyObject *mask, PyObject *values, PyObject *operands) {
  if (!PyObject_TypeCheck(entry, Entry) || PyFunction_GET_CODE(emit) != emit_code) return NULL;
  const int inferred = PyList_GET_SIZE(inferring) ? state_says(s_inference) : 0;
  if (inferred < 0) return NULL;
  PyObject *pack = SLOT(entry, entry_at.pack), *form = NULL, *node = NULL, *t = NULL;
  const int graded = pack != Py_None ? -1 : inferred ? 0 : is_graded(entry, mask);
  if (graded < 0 || (graded && !(form = form_of(entry, mask, operands)))) return NULL;
  Py_XINCREF(form);
  PyObject *outs = NULL;
  if (!form || unwatched(form, operands) > 0) outs = recorded(form ? SLOT(form, form_at.kernel) : SLOT(entry, entry_at.kernel), values);
  if (outs && (!form || (node = new_node(form, values, outs, operands)))) {
    t = new_tensor(PyList_GET_ITEM(outs, 0));
    if (t && inferred && PyObject_SetAttr(t, s_inferred, Py_True) < 0) Py_CLEAR(t);
    if (t && node) {
      set(t, tensor_at.node, Py_NewRef(node));
      set(t, tensor_at.rg, Py_NewRef(Py_True));
    }
  }
  Py_XDECREF(outs);
  Py_XDECREF(form);
  Py_XDECREF(node);
  return t;
}

static PyObject *finish(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  if (n != 4) {
    PyErr_SetString(PyExc_TypeError, "finish() takes an entry, a mask, values and operands");
    return NULL;
  }
  return given(finished_tensor(args[0], args[1], args[2], args[3]));
}

static int offset(PyTypeObject *type, const char *name, Py_ssize_t *where) {
  PyObject *found = PyDict_GetItemString(type->tp_dict, name);
  if (!found || Py_TYPE(found) != &PyMemberDescr_Type) {
    PyErr_Format(PyExc_TypeError, "%s has no slot %s", type->tp_name, name);
    return -1;
  }
  *where = ((PyMemberDescrObject *)found)->d_member->offset;
  return 0;
}

static PyTypeObject *class_of(PyObject *engine, const char *name) {
  PyObject *type = PyDict_GetItemString(engine, name);
  if (!type || !PyType_Check(type)) {
    PyErr_Format(PyExc_TypeError, "recorder: no class %s", name);
    return NULL;
  }
  return (PyTypeObject *)Py_NewRef(type);
}

static PyObject *object_of(PyObject *engine, const char *name, PyTypeObject *type) {
  PyObject *found = PyDict_GetItemString(engine, name);
  if (!found || (type && !PyObject_TypeCheck(found, type))) {
    PyErr_Format(PyExc_TypeError, "recorder: %s is not what it should be", name);
    return NULL;
  }
  return Py_NewRef(found);
}

#define AT(type, where, name, text) (offset(type, text, &where.name) == 0)

#include "flush.inc"
#include "views.inc"
#include "small.inc"
#include "module.inc"

static PyObject *begin(PyObject *self, PyObject *engine) {
  if (!PyDict_Check(engine)) {
    PyErr_SetString(PyExc_TypeError, "begin() takes a dict of the engine's classes and state");
    return NULL;
  }
  if (!(Entry = class_of(engine, "Entry")) || !(Form = class_of(engine, "GradForm")) || !(Value = class_of(engine, "Value")) || !(Program = class_of(engine, "Program")) ||
      !(Kernel = class_of(engine, "Kernel")) || !(Tensor = class_of(engine, "Tensor")) || !(Node = class_of(engine, "Node")) ||
      !(DeviceSlot = class_of(engine, "DeviceSlot")))
    return NULL;
  if (!(threads = object_of(engine, "threads", &PyDict_Type)) || !(capture_dict = object_of(engine, "capture", &PyDict_Type)) ||
      !(emit = object_of(engine, "emit", &PyFunction_Type)) || !(watch = object_of(engine, "watch", &PyList_Type)) ||
      !(finished = object_of(engine, "finished", &PyList_Type)) || !(inferring = object_of(engine, "inferring", &PyList_Type)) ||
      !(is_inference = object_of(engine, "is_inference", &PyFunction_Type)) ||
      !(hostmode_dict = object_of(engine, "hostmode", &PyDict_Type)) || !(state = object_of(engine, "state", NULL)) || !(counter = object_of(engine, "counter", NULL)))
    return NULL;
  emit_code = Py_NewRef(PyFunction_GET_CODE(emit));
  if (!begin_flush(engine) || !begin_views(engine)) return NULL;
  PyObject *types = object_of(engine, "plain", &PyTuple_Type);
  if (!types || PyTuple_GET_SIZE(types) > MOST_TYPES) return NULL;
  for (plain_count = 0; plain_count < PyTuple_GET_SIZE(types); ++plain_count) plain[plain_count] = PyTuple_GET_ITEM(types, plain_count);
  if (!(AT(Value, value_at, aval, "aval") && AT(Value, value_at, array, "array") && AT(Value, value_at, program, "program") &&
        AT(Value, value_at, slot, "slot") && AT(Value, value_at, guard, "guard") && AT(Value, value_at, owned, "owned") &&
        AT(Value, value_at, pack, "pack") && AT(Value, value_at, fails, "fails") && AT(Program, program_at, slot, "slot") && AT(Program, program_at, code, "code") && AT(Program, program_at, values, "values") &&
        AT(Program, program_at, inputs, "inputs") && AT(Program, program_at, packed, "packed") &&
        AT(Program, program_at, checks, "checks") && AT(Program, program_at, state, "state") && AT(Program, program_at, begun, "begun") &&
        AT(Program, program_at, pause, "pause") && AT(DeviceSlot, device_at, closing, "closing") && AT(DeviceSlot, device_at, ran, "ran") && AT(DeviceSlot, device_at, is_meta, "is_meta") && AT(DeviceSlot, device_at, program, "program") && AT(Kernel, kernel_at, slot, "slot") && AT(Kernel, kernel_at, checks, "checks") &&
        AT(Kernel, kernel_at, out_avals, "out_avals") && AT(Entry, entry_at, kernel, "kernel") && AT(Entry, entry_at, pack, "pack") &&
        AT(Entry, entry_at, forms, "forms") && AT(Entry, entry_at, out_float, "out_float") && AT(Form, form_at, kernel, "kernel") &&
        AT(Form, form_at, roots, "roots") && AT(Form, form_at, kept, "kept") && AT(Form, form_at, wanted, "wanted") &&
        AT(Form, form_at, n_out, "n_out") && AT(Form, form_at, has_extra, "has_extra") && AT(Form, form_at, node_type, "node_type") &&
        AT(Node, node_at, form, "form") && AT(Node, node_at, ends, "ends") && AT(Node, node_at, indices, "indices") &&
        AT(Node, node_at, saved, "saved") && AT(Node, node_at, own, "own") && AT(Node, node_at, seq, "seq") &&
        AT(Node, node_at, pre_hooks, "pre_hooks") && AT(Node, node_at, post_hooks, "post_hooks") &&
        AT(Node, node_at, node_pre_hooks, "node_pre_hooks") && AT(Node, node_at, retains, "retains") &&
        AT(Tensor, tensor_at, value, "_value") && AT(Tensor, tensor_at, alias, "_alias") && AT(Tensor, tensor_at, node, "_node") &&
        AT(Tensor, tensor_at, index, "_index") && AT(Tensor, tensor_at, rg, "_rg") && AT(Tensor, tensor_at, grad, "_grad") &&
        AT(Tensor, tensor_at, layout, "_layout") && AT(Tensor, tensor_at, ver, "_ver") && AT(Tensor, tensor_at, hooks, "_hooks") &&
        AT(Tensor, tensor_at, post_hooks, "_post_hooks")))
    return NULL;
  Py_RETURN_NONE;
}

extern PyObject *jaxtorch_standing(PyObject *self, PyObject *args); /* frames.c */
extern const int jaxtorch_knows_frames;

static PyMethodDef methods[] = {
    {"standing", jaxtorch_standing, METH_VARARGS, "standing(frame, place): what stands at this place of the stack of a frame that waits for a call, or None."},
    {"begin", begin, METH_O, "begin(engine): the engine's classes and state, by their names; TypeError where they are not as this was written for."},
    {"record", (PyCFunction)(void (*)(void))record, METH_FASTCALL, "record(kernel, values): `program.emit`, or None."},
    {"finish", (PyCFunction)(void (*)(void))finish, METH_FASTCALL, "finish(entry, mask, values, operands): `tensor.finish`, or None."},
    {"viewed", (PyCFunction)(void (*)(void))viewed, METH_FASTCALL, "viewed(tensor, steps): a view by a basic index, or None."},
    {"rows", viewed_rows, METH_VARARGS, "rows(tensor, count, several, recipe, strides, offset, apart): the parts of a tensor on the host, or None."},
    {"several", viewed_several, METH_VARARGS, "several(base, kernel, values, [(layout, chain)], name): the results of an operation of several views, or None."},
    {"put", (PyCFunction)(void (*)(void))put_in, METH_FASTCALL, "put(tensor, alias, value): `views.write`; was that done?"},
    {"known", (PyCFunction)(void (*)(void))known, METH_FASTCALL, "known(program, structure): `program._is_known`."},
    {"begin_modules", begin_modules, METH_VARARGS, "begin_modules(Module, called, bound, calls, hooks): methods of `nn.Module`."},
    {"run", run, METH_O, "run(program): `program.flush`, if the program stays on the host and came before; was it that?"},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef module = {PyModuleDef_HEAD_INIT, "recorder", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_recorder(void) {
  PyObject *made = PyModule_Create(&module);
  s_active = PyUnicode_InternFromString("active");
  s_grad = PyUnicode_InternFromString("grad");
  s_inference = PyUnicode_InternFromString("inference");
  s_inferred = PyUnicode_InternFromString("_inferred");
  zero = PyLong_FromLong(0);
  minus_one = PyLong_FromLong(-1);
  if (!made || !s_active || !s_grad || !s_inference || !s_inferred || !zero || !minus_one || PyModule_AddIntConstant(made, "VERSION", VERSION) < 0 || PyModule_AddIntConstant(made, "KNOWS_FRAMES", jaxtorch_knows_frames) < 0 || !add_host_call(made) || !add_small_call(made) || !module_names()) {
    Py_XDECREF(made);
    return NULL;
  }
  return made;
}
