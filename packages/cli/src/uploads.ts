/**
 * Uploads the files that an input names (`@image.png`), each once, and replaces them with their URLs.
 */
import { openAsBlob } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { ApiClient } from '@darkroom/api/client/api-client';
import { errorCodeOf } from './error-code.ts';
import { UsageError } from './errors.ts';
import { FileValue } from './input-values.ts';

/** @throws {UsageError} a file cannot be read. @throws {ApiError} the service does not accept it. */
export async function uploadFiles(
  api: ApiClient,
  input: Readonly<Record<string, unknown>>,
  say: (line: string) => void,
): Promise<Record<string, unknown>> {
  const urls = new Map<string, string>();

  async function upload(file: string): Promise<string> {
    const uploaded = urls.get(file);
    if (uploaded !== undefined) return uploaded;
    const body = await openFile(file);
    say(`uploading ${path.basename(file)}`);
    const { url } = await api.call<{ readonly url: string }>('POST', '/files', { body });
    urls.set(file, url);
    return url;
  }

  async function replace(value: unknown): Promise<unknown> {
    if (value instanceof FileValue) return upload(value.path);
    if (Array.isArray(value)) {
      const members: unknown[] = [];
      for (const member of value) members.push(await replace(member));
      return members;
    }
    if (typeof value !== 'object' || value === null) return value;
    const members = Object.create(null) as Record<string, unknown>;
    for (const [name, member] of Object.entries(value)) members[name] = await replace(member);
    return members;
  }

  return (await replace(input)) as Record<string, unknown>;
}

/** Opens a file that is read while it is sent. */
async function openFile(file: string): Promise<Blob> {
  try {
    if (!(await stat(file)).isFile()) throw new Error('it is not a file');
    return await openAsBlob(file);
  } catch (error) {
    const code = errorCodeOf(error) ?? (error as Error).message;
    throw new UsageError(`@${file} cannot be read: ${code}`, { cause: error });
  }
}
