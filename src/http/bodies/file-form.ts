/** The fields of the form of `POST /v1/files` beside its file: those of OpenAI's API, or none (contract §7.5). */
import { FILE_EXPIRY_SECONDS, FILE_PURPOSES } from '@darkroom/api/openai/files';
import type { FilePurpose } from '@darkroom/api/openai/files';
import { invalidValue } from '../app/errors.ts';
import { unknownField } from './upload-body.ts';
import type { FormFields } from './upload-body.ts';

const ANCHOR = 'expires_after[anchor]';
const SECONDS = 'expires_after[seconds]';
/** The maximum length of a rejected purpose in a message. */
const MAX_QUOTED = 40;

/** What a client says of its file. */
export interface FilePurposeFields {
  readonly purpose: FilePurpose;
  readonly keptSeconds: number;
}

/** Collects the fields. */
export class FileForm implements FormFields {
  /** Without a purpose, the field of the file may have any name. */
  readonly file = undefined;
  readonly #values = new Map<string, string>();

  take(name: string, value: string): void {
    if (![ANCHOR, SECONDS, 'purpose'].includes(name)) throw unknownField(name);
    // An empty purpose is that of a client of OpenAI's, which would get a file of the other form.
    if (value === '' && name !== 'purpose') return;
    if (this.#values.has(name)) throw invalidValue(name, 'it is given twice');
    this.#values.set(name, value);
    // A wrong purpose before the file spares the client sending it.
    if (name === 'purpose') purposeOf(value);
  }

  /**
   * @returns undefined: the client sent no purpose.
   * @throws {RequestError} 400 naming the field.
   */
  read(): FilePurposeFields | undefined {
    const purpose = this.#values.get('purpose');
    const anchor = this.#values.get(ANCHOR);
    const seconds = this.#values.get(SECONDS);
    if (purpose === undefined) {
      const [other] = this.#values.keys();
      if (other !== undefined) throw invalidValue(other, 'it needs purpose');
      return undefined;
    }
    return { purpose: purposeOf(purpose), keptSeconds: keptSeconds(anchor, seconds) };
  }
}

function purposeOf(value: string): FilePurpose {
  const purpose = FILE_PURPOSES.find((each) => each === value);
  if (purpose !== undefined) return purpose;
  const shown = value.replaceAll(/\p{Cc}/gu, '').slice(0, MAX_QUOTED);
  throw invalidValue('purpose', `"${shown}" is not supported; use one of ${FILE_PURPOSES.join(', ')}`);
}

function keptSeconds(anchor: string | undefined, seconds: string | undefined): number {
  if (anchor === undefined && seconds === undefined) return FILE_EXPIRY_SECONDS.default;
  if (anchor !== 'created_at') throw invalidValue(ANCHOR, 'must be created_at');
  const { minimum, maximum } = FILE_EXPIRY_SECONDS;
  const kept = /^\d{1,9}$/.test(seconds ?? '') ? Number(seconds) : NaN;
  if (!(kept >= minimum && kept <= maximum)) throw invalidValue(SECONDS, `must be from ${minimum} to ${maximum}`);
  return kept;
}
