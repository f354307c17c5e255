/* Runs a model that tvmlite compiled to WebAssembly, in a browser or in Node.js.
 *
 *     import { load } from "./tvmlite.js";
 *     const model = await load("model.wasm");
 *     const { probabilities } = model.run({ image: new Float32Array(64) });
 *     console.log(probabilities.shape, probabilities.data);
 *
 * `model.inputs` and `model.outputs` have names, dtypes and shapes. An input is a typed array of its dtype, or
 * `{ data, shape }` if its shape has open dimensions. 16-bit floats are passed as their bits, in a Uint16Array,
 * 64-bit integers in a BigInt64Array. Outputs are `{ data, shape, dtype }`, copied out of the model's memory.
 */

const SECTION = "tvmlite";
const FOOTER_BYTES = 72;
const ALIGNMENT = 64;
const PAGE = 65536;

const ARRAYS = {
  float64: Float64Array, float32: Float32Array, float16: Uint16Array, bfloat16: Uint16Array,
  int64: BigInt64Array, int32: Int32Array, int16: Int16Array, int8: Int8Array,
  uint64: BigUint64Array, uint32: Uint32Array, uint16: Uint16Array, uint8: Uint8Array, bool: Uint8Array,
};

/** An error in a model's file or in its inputs. */
export class TvmliteError extends Error {}

/** Load the model in `source`: a URL, a Response, the file's bytes, or a WebAssembly.Module. */
export async function load(source) {
  const module = await compiled(source);
  const [section] = WebAssembly.Module.customSections(module, SECTION);
  if (section === undefined) {
    throw new TvmliteError("this WebAssembly module was not written by tvmlite");
  }
  const text = new TextDecoder().decode(new Uint8Array(section, 0, section.byteLength - FOOTER_BYTES));
  return new Model(await WebAssembly.instantiate(module, {}), JSON.parse(text));
}

async function compiled(source) {
  if (source instanceof WebAssembly.Module) {
    return source;
  }
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) {
    return WebAssembly.compile(source);
  }
  const response = source instanceof Response ? source : await fetch(source);
  if (!response.ok) {
    throw new TvmliteError(`cannot read ${response.url}: ${response.status} ${response.statusText}`);
  }
  return WebAssembly.compile(await response.arrayBuffer());
}

/** A model with its own memory. `metadata` is that in its file. */
export class Model {
  constructor(instance, metadata) {
    const entry = JSON.parse(metadata.entry);
    if (entry.abi !== 1) {
      throw new TvmliteError(`the model has ABI version ${entry.abi}, this module speaks 1`);
    }
    if (metadata.sequences !== undefined) {
      throw new TvmliteError("the model takes or gives lists of arrays, which this module cannot pass");
    }
    const of = (...kinds) => entry.parameters.filter(([, kind]) => kinds.includes(kind));
    const named = (rows, names) => rows.map(([own, , dtype, shape], k) => ({ name: names?.[k] ?? own, dtype, shape }));
    this.metadata = metadata;
    this.entry = entry;
    this.inputs = named(of("input", "scalar"), metadata.input_names);
    this.outputs = named(of("output", "found"), metadata.output_names);
    this.exports = instance.exports;
    this.passed = entry.parameters.filter(([, kind]) => kind !== "found");
    this.arrays = of("input", "output");
    this.sizes = entry.parameters.filter(
      ([, kind, dtype]) => kind === "size" || (kind === "scalar" && (dtype === "int64" || dtype === "int32")));
    this.found = of("found");
  }

  /** Run the model on inputs by name, and return the outputs by name. */
  run(inputs) {
    const given = this.#checked(inputs);
    const sizes = this.#sizes(given);
    let next = Number(this.exports.__heap_base.value);
    const place = (bytes) => {
      const at = Math.ceil(next / ALIGNMENT) * ALIGNMENT;
      next = at + bytes;
      const missing = next - this.exports.memory.buffer.byteLength;
      if (missing > 0) {
        this.exports.memory.grow(Math.ceil(missing / PAGE));
      }
      return at;
    };
    const { shapes, workspace } = this.#shapes(sizes, place);
    const at = new Map();
    this.arrays.forEach(([name, kind, dtype, , inPlace], k) => {
      const bytes = shapes[k].reduce((product, extent) => product * extent, 1) * ARRAYS[dtype].BYTES_PER_ELEMENT;
      at.set(name, kind === "output" && inPlace ? at.get(inPlace) : place(bytes));
    });
    const results = this.found.length ? place(8 * this.found.reduce((sum, row) => sum + 1 + row[3].length, 1)) : 0;
    const scratch = place(0);
    for (const { own, dtype, data } of given.filter((one) => at.has(one.own))) {
      this.#view(dtype, at.get(own), data.length).set(data);
    }
    for (let capacity = workspace; ;) {
      next = scratch;
      place(capacity);
      const code = this.exports[this.entry.name](...this.#arguments(given, sizes, at, scratch, results, capacity));
      const message = this.entry.messages[code - 1];
      const needed = results ? Number(this.#view("int64", results, 1)[0]) : 0;
      if (code !== 0 && message?.startsWith("the workspace is too small") && needed > capacity) {
        capacity = needed;
        continue;
      }
      if (code !== 0) {
        throw new TvmliteError(message ?? `the model refused its input with code ${code}`);
      }
      return this.#results(shapes, at, scratch, results);
    }
  }

  /** The inputs in order: each parameter's name, dtype, elements and shape. */
  #checked(inputs) {
    const wanted = this.entry.parameters.filter(([, kind]) => kind === "input" || kind === "scalar");
    for (const name of Object.keys(inputs)) {
      if (!this.inputs.some((one) => one.name === name)) {
        throw new TvmliteError(`there is no input "${name}"; the inputs are ${this.inputs.map((i) => i.name).join(", ")}`);
      }
    }
    return wanted.map(([own, kind, dtype, shape], k) => {
      const { name } = this.inputs[k];
      const value = inputs[name];
      if (value === undefined) {
        throw new TvmliteError(`input "${name}" is not given`);
      }
      if (kind === "scalar") {
        const [element] = ArrayBuffer.isView(value) ? value : [value?.data?.[0] ?? value];
        return { own, dtype, scalar: /64$/.test(dtype) && dtype !== "float64" ? BigInt(element) : Number(element) };
      }
      const data = ArrayBuffer.isView(value) ? value : value.data;
      const extents = value.shape ?? shape;
      if (!(data instanceof ARRAYS[dtype])) {
        throw new TvmliteError(`input "${name}" is ${data?.constructor?.name}, expected ${ARRAYS[dtype].name}`);
      }
      const fits = extents.length === shape.length && extents.every(
        (extent, d) => Number.isInteger(extent) && extent >= 0 && (typeof shape[d] !== "number" || shape[d] === extent));
      if (!fits) {
        throw new TvmliteError(`input "${name}" has shape [${extents}], expected [${shape}]; give { data, shape }`);
      }
      if (extents.reduce((product, extent) => product * extent, 1) !== data.length) {
        throw new TvmliteError(`input "${name}" has ${data.length} elements, its shape [${extents}] has others`);
      }
      return { own, dtype, data, shape: extents, declared: shape, name };
    });
  }

  /** The values of the size variables, by name. */
  #sizes(given) {
    const sizes = new Map();
    for (const { scalar, own, shape, declared, name } of given) {
      if (shape === undefined) {
        sizes.set(own, scalar);
        continue;
      }
      declared.forEach((extent, d) => {
        if (typeof extent !== "string") {
          return;
        }
        if (sizes.has(extent) && sizes.get(extent) !== BigInt(shape[d])) {
          throw new TvmliteError(`input "${name}" has shape [${shape}], where ${extent} is ${sizes.get(extent)} already`);
        }
        sizes.set(extent, BigInt(shape[d]));
      });
    }
    return sizes;
  }

  /** The shapes of all arrays, and the bytes of scratch memory. */
  #shapes(sizes, place) {
    const query = this.exports[`${this.entry.name}_shapes`];
    if (query === undefined) {
      return { shapes: this.arrays.map((row) => row[3]), workspace: this.entry.workspace };
    }
    const count = this.arrays.reduce((sum, row) => sum + row[3].length, 1);
    const out = place(8 * count);
    if (query(out, 1n, ...this.sizes.map(([name]) => BigInt(sizes.get(name)))) !== 0) {
      throw new TvmliteError("the model refused the sizes of its inputs");
    }
    const extents = Array.from(this.#view("int64", out, count), Number);
    const shapes = this.arrays.map((row) => extents.splice(0, row[3].length));
    return { shapes, workspace: extents[0] };
  }

  #arguments(given, sizes, at, scratch, results, capacity) {
    const scalars = new Map(given.filter((one) => one.shape === undefined).map((one) => [one.own, one.scalar]));
    return this.passed.map(([name, kind]) => {
      switch (kind) {
        case "input":
        case "output":
          return at.get(name);
        case "scalar":
          return scalars.get(name);
        case "size":
          return sizes.get(name);
        case "workspace":
          return scratch;
        case "threads":
          return 1n;
        case "capacity":
          return BigInt(capacity);
        case "dynamic_outputs":
          return results;
        default:
          return 0; // no profile
      }
    });
  }

  #results(shapes, at, scratch, results) {
    let next = results / 8 + 1;
    const fixed = new Map(this.arrays.map(([name], k) => [name, shapes[k]]));
    const made = {};
    this.entry.parameters.filter(([, kind]) => kind === "output" || kind === "found").forEach(([own, kind, dtype, declared], k) => {
      let [start, shape] = [at.get(own), fixed.get(own)];
      if (kind === "found") {
        const words = new BigInt64Array(this.exports.memory.buffer);
        start = scratch + Number(words[next]);
        shape = Array.from(words.slice(next + 1, next + 1 + declared.length), Number);
        next += 1 + declared.length;
      }
      const length = shape.reduce((product, extent) => product * extent, 1);
      made[this.outputs[k].name] = { data: this.#view(dtype, start, length).slice(), shape: this.#squeezed(k, shape), dtype };
    });
    return made;
  }

  /** `shape` without the axes that output `k` loses if they all have extent 1. */
  #squeezed(k, shape) {
    const axes = (this.metadata.squeezed ?? []).find(([place]) => place === k)?.[1] ?? [];
    return axes.every((axis) => shape[axis] === 1) ? shape.filter((_, d) => !axes.includes(d)) : shape;
  }

  /** A view of the memory as an array; it is invalid once the memory has grown. */
  #view(dtype, at, length) {
    return new ARRAYS[dtype](this.exports.memory.buffer, at, length);
  }
}
