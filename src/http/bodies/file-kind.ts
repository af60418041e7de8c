/** What a file is: its type, whether it fits its purpose, and its name (contract §7.5). */
import { UnsupportedMediaError } from '@darkroom/media/inspect';
import type { FilePurpose } from '@darkroom/api/openai/files';
import type { HttpContext } from '../app/context.ts';
import { invalidRequest } from '../app/errors.ts';
import type { RequestError } from '../app/errors.ts';
import { inspect } from './store-upload.ts';
import type { StoredFile } from './store-upload.ts';

/** The type of files for batches, whose lines are read when a batch is. */
const JSON_LINES = 'application/jsonl';
/** The type of files that are only stored. */
const ANY_TYPE = 'application/octet-stream';
/** The longest name of a file that is kept, in characters. */
const MAX_FILE_NAME = 255;

/**
 * The type of a file that has a purpose.
 *
 * @throws {RequestError} @throws {UnsupportedMediaError} it does not fit its purpose.
 */
export async function typeForPurpose(
  http: HttpContext,
  accountId: string,
  purpose: FilePurpose,
  file: StoredFile,
): Promise<string> {
  if (purpose === 'batch') return JSON_LINES;
  try {
    const { mimeType } = await inspect(http, accountId, file);
    if (purpose === 'vision' && !mimeType.startsWith('image/')) {
      throw unfit('file', `vision takes images, and this is ${mimeType}`);
    }
    return mimeType;
  } catch (error) {
    if (!(error instanceof UnsupportedMediaError) || purpose === 'vision') throw error;
    return ANY_TYPE;
  }
}

/** @throws {RequestError} a file of this name cannot have the purpose. */
export function requireNameFor(purpose: FilePurpose, name: string | undefined, field: string): void {
  if (purpose === 'batch' && !isJsonLines(name))
    throw unfit(field, 'the name of a file for batches must end in .jsonl');
}

export function isJsonLines(name: string | undefined): boolean {
  return name?.toLowerCase().endsWith('.jsonl') === true;
}

/** What clients see again: no control characters, and no paths of their machines. */
export function plainFileName(name = ''): string {
  const last = name.split(/[/\\]/).at(-1) ?? '';
  const shown = last.replaceAll(/\p{Cc}|\p{Cs}/gu, '').slice(0, MAX_FILE_NAME);
  return shown === '' ? 'file' : shown;
}

function unfit(field: string, problem: string): RequestError {
  return invalidRequest(`invalid request: ${field}: ${problem}`, { param: field, code: 'invalid_value' });
}
