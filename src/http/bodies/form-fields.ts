/** The fields of a form, which are all texts, as the schema of the request has them. */
import { RequestError } from '../app/errors.ts';

export interface FieldTypes {
  readonly numbers: readonly string[];
  readonly booleans: readonly string[];
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
    if (value === '') return;
    if (name.endsWith('[]')) {
      const list = this.#fields.get(name.slice(0, -2));
      this.#fields.set(name.slice(0, -2), [...(Array.isArray(list) ? list : []), value]);
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
    if (numbers.includes(name) && value.trim() !== '' && Number.isFinite(Number(value))) return Number(value);
    // Python writes them with a capital.
    if (booleans.includes(name) && /^(true|false)$/i.test(value)) return value.toLowerCase() === 'true';
    return value;
  }
}
