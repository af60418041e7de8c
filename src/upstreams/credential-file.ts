/** Reads a file with the credential of an upstream. */
import { readFileSync, statSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import type { Stats } from 'node:fs';
import { errorCodeOf } from '../domain/error-code.ts';

/** What a file contains. */
export type CredentialFile =
  /** Undefined: there is no such file, or it is empty. */
  | { readonly secret: string | undefined }
  /** It is no credential, or cannot be read; without anything of its content. */
  | { readonly problem: string };

/** A credential is small; a key file of Google has about 2 kB. */
const MAX_BYTES = 65_536;

const NO_FILE: readonly string[] = ['ENOENT', 'ENOTDIR'];

export async function readCredentialFile(file: string): Promise<CredentialFile> {
  try {
    // Before it is read: a pipe never ends, and a file may be of any size.
    const problem = findProblem(await stat(file));
    return problem === undefined ? parse(await readFile(file)) : { problem };
  } catch (error) {
    return unreadable(error);
  }
}

/** The same, at start: what is offered first depends on it. */
export function readCredentialFileSync(file: string): CredentialFile {
  try {
    const problem = findProblem(statSync(file));
    return problem === undefined ? parse(readFileSync(file)) : { problem };
  } catch (error) {
    return unreadable(error);
  }
}

function findProblem(found: Stats): string | undefined {
  if (!found.isFile()) return 'it is not a file';
  return found.size > MAX_BYTES ? `it has ${found.size} bytes, and a credential at most ${MAX_BYTES}` : undefined;
}

function parse(content: Buffer): CredentialFile {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(content);
  } catch {
    return { problem: 'it is not text in UTF-8' };
  }
  if (text.includes('\0')) return { problem: 'it has a NUL character' };
  const secret = text.trim();
  return { secret: secret === '' ? undefined : secret };
}

function unreadable(error: unknown): CredentialFile {
  const code = errorCodeOf(error) ?? '';
  return NO_FILE.includes(code) ? { secret: undefined } : { problem: `it cannot be read (${code})` };
}
