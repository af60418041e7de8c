/**
 * Files that may have a purpose (contract §7.5): what their form says, whether they fit, and what is recorded of them.
 */
import type { IncomingMessage } from 'node:http';
import { FILE_EXPIRY_SECONDS, FILE_PURPOSES } from '@darkroom/api/openai/files';
import type { FilePurpose } from '@darkroom/api/openai/files';
import type { ByteSource } from '@darkroom/media/byte-source';
import { UnsupportedMediaError } from '@darkroom/media/inspect';
import { MAX_BATCH_FILE_BYTES, purposedId } from '../../objects/openai-files.ts';
import { storedSource } from '../../objects/stores/object-store.ts';
import { MAX_UPLOAD_BYTES, factsOf, recordUpload } from '../../objects/uploads.ts';
import type { FileFacts, Upload } from '../../objects/uploads.ts';
import type { HttpContext } from '../app/context.ts';
import { invalidRequest, invalidValue } from '../app/errors.ts';
import { receiveObject, record, servableForm, storeUpload } from './store-upload.ts';
import type { StoredFile } from './store-upload.ts';
import { isForm, unknownField } from './upload-body.ts';
import type { FormFields, SentFile } from './upload-body.ts';
import { tooLarge } from './upload-line.ts';

const ANCHOR = 'expires_after[anchor]';
const SECONDS = 'expires_after[seconds]';
/** The maximum length of a rejected purpose in a message. */
const MAX_QUOTED = 40;
/** The type of files for batches, whose lines are read when a batch is. */
const JSON_LINES = 'application/jsonl';
/** The type of files that are only stored. */
const ANY_TYPE = 'application/octet-stream';
/** The longest name of a file that is kept, in characters. */
const MAX_FILE_NAME = 255;

/** Stores the file of a request to `POST /v1/files`. */
export function storeFile(http: HttpContext, request: IncomingMessage, accountId: string): Promise<Upload> {
  if (!isForm(request)) return storeUpload(http, request, accountId);
  const form = new FileForm();
  // The purpose may follow the file: until then its name decides.
  const maxBytesOf = ({ name }: SentFile): number => (isJsonLines(name) ? MAX_BATCH_FILE_BYTES : MAX_UPLOAD_BYTES);
  const receiving = { accountId, fields: form, maxBytes: MAX_BATCH_FILE_BYTES, maxBytesOf };
  return receiveObject(http, request, receiving, async (file, sent, begin) => {
    const fields = form.read();
    return fields === undefined
      ? record(http, accountId, await servableForm(http, accountId, begin, file))
      : recordPurposed(http, accountId, fields, file, sent);
  });
}

async function recordPurposed(
  http: HttpContext,
  accountId: string,
  { purpose, keptSeconds }: FilePurposeFields,
  file: StoredFile,
  { field, name }: SentFile,
): Promise<Upload> {
  if (field !== 'file') {
    const code = 'missing_required_parameter';
    throw invalidRequest('invalid request: missing property: file', { param: 'file', code });
  }
  requireNameFor(purpose, name, 'file');
  if (purpose !== 'batch' && file.sizeBytes > MAX_UPLOAD_BYTES) throw tooLarge(MAX_UPLOAD_BYTES);
  const source = storedSource(http.store, file.objectKey, file.sizeBytes);
  const facts = await factsForPurpose(http, accountId, purpose, source);
  return recordUpload(
    http.accountDatabase(accountId),
    { ...file, ...facts, id: purposedId(file.id), accountId, purpose, fileName: plainFileName(name) },
    { keptSeconds, now: http.now() },
  );
}

/** What a client says of its file. */
interface FilePurposeFields {
  readonly purpose: FilePurpose;
  readonly keptSeconds: number;
}

/** The fields of the form beside its file: those of OpenAI's API, or none. */
class FileForm implements FormFields {
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

/**
 * What is recorded of a file that has a purpose.
 *
 * @throws {RequestError} @throws {UnsupportedMediaError} it does not fit its purpose.
 */
export async function factsForPurpose(
  { inspector }: HttpContext,
  accountId: string,
  purpose: FilePurpose,
  source: ByteSource,
): Promise<Pick<FileFacts, 'mimeType'> & Partial<FileFacts>> {
  if (purpose === 'batch') return { mimeType: JSON_LINES };
  try {
    const facts = factsOf(await inspector.inspect(accountId, source));
    if (purpose === 'vision' && !facts.mimeType.startsWith('image/')) {
      throw invalidValue('file', `vision takes images, and this is ${facts.mimeType}`);
    }
    return facts;
  } catch (error) {
    if (!(error instanceof UnsupportedMediaError) || purpose === 'vision') throw error;
    return { mimeType: ANY_TYPE };
  }
}

/** @throws {RequestError} a file of this name cannot have the purpose. */
export function requireNameFor(purpose: FilePurpose, name: string | undefined, field: string): void {
  if (purpose === 'batch' && !isJsonLines(name))
    throw invalidValue(field, 'the name of a file for batches must end in .jsonl');
}

function isJsonLines(name: string | undefined): boolean {
  return name?.toLowerCase().endsWith('.jsonl') === true;
}

/** What clients see again: no control characters, and no paths of their machines. */
export function plainFileName(name = ''): string {
  const last = name.split(/[/\\]/).at(-1) ?? '';
  const shown = last.replaceAll(/\p{Cc}|\p{Cs}/gu, '').slice(0, MAX_FILE_NAME);
  return shown === '' ? 'file' : shown;
}
