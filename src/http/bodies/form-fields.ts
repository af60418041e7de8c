/** The fields of a form, which are all texts, as the schema of the request has them. */
import { RequestError } from '../app/errors.ts';

export interface FieldTypes {
  readonly numbers: readonly string[];
  readonly booleans: readonly string[];
  /** Those that are lists even where their names do not end with `[]`. */
  readonly lists?: readonly string[];
}

const TRUE = /^(?:true|1)$/i;
const FALSE = /^(?:false|0)$/i;

/** Whether a text of a form is as if not given: form libraries send the line end of an empty text area. */
export function isEmptyText(value: string): boolean {
  return value.trim() === '';
}

/** Collects fields as they arrive. Those whose names end with `[]` are lists. An empty text is as if not given. */
export class FormDecoder {
  readonly #types: FieldTypes;
  readonly #fields = new Map<string, unknown>();

  constructor(types: FieldTypes) {
    this.#types = types;
  }

  /** @throws {RequestError} a field that is no list is given twice. */
  take(name: string, value: string): void {
    if (isEmptyText(value)) return;
    const listed = name.endsWith('[]') ? name.slice(0, -2) : name;
    if (listed !== name || this.#types.lists?.includes(name) === true) {
      const list = this.#fields.get(listed);
      this.#fields.set(listed, [...(Array.isArray(list) ? list : []), value]);
      return;
    }
    if (this.#fields.has(name)) {
      throw new RequestError('invalid_request', `invalid request: ${name}: it is given twice`, { param: name });
    }
    this.#fields.set(name, this.#decoded(name, value));
  }

  fields(): Readonly<Record<string, unknown>> {
    return Object.fromEntries(this.#fields);
  }

  /** What is not of the type stays a text, which the schema rejects. */
  #decoded(name: string, value: string): unknown {
    const { numbers, booleans } = this.#types;
    if (numbers.includes(name) && Number.isFinite(Number(value))) return Number(value);
    // Python writes them with a capital, and others as numbers.
    if (booleans.includes(name) && (TRUE.test(value) || FALSE.test(value))) return TRUE.test(value);
    return value;
  }
}
