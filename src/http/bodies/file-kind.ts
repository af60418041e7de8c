/** What a file is: its type, whether it fits its purpose, and its name (contract §7.5). */
import type { ByteSource } from '@darkroom/media/byte-source';
import { UnsupportedMediaError } from '@darkroom/media/inspect';
import type { FilePurpose } from '@darkroom/api/openai/files';
import { factsOf } from '../../objects/uploads.ts';
import type { FileFacts } from '../../objects/uploads.ts';
import type { HttpContext } from '../app/context.ts';
import { invalidValue } from '../app/errors.ts';

/** The type of files for batches, whose lines are read when a batch is. */
const JSON_LINES = 'application/jsonl';
/** The type of files that are only stored. */
const ANY_TYPE = 'application/octet-stream';
/** The longest name of a file that is kept, in characters. */
const MAX_FILE_NAME = 255;

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

export function isJsonLines(name: string | undefined): boolean {
  return name?.toLowerCase().endsWith('.jsonl') === true;
}

/** What clients see again: no control characters, and no paths of their machines. */
export function plainFileName(name = ''): string {
  const last = name.split(/[/\\]/).at(-1) ?? '';
  const shown = last.replaceAll(/\p{Cc}|\p{Cs}/gu, '').slice(0, MAX_FILE_NAME);
  return shown === '' ? 'file' : shown;
}
