/**
 * The model files that the build has read without a problem. An api takes them as they are: to prove the hundred files
 * of the package anew takes it longer than all else that it does when it starts.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { packageFile } from '../config/package-root.ts';

/** Written by the build's last step (src/commands/prove-models.ts). */
export const PROVEN_MODELS = packageFile('dist/proven-models.json');

/** The hashes of files with what their providers add to them. */
export type ProvenModels = ReadonlySet<string>;

export const NOTHING_PROVEN: ProvenModels = new Set();

/** @param merged the parsed file with what its provider adds. */
export function hashOfModel(merged: unknown): string {
  return createHash('sha256').update(JSON.stringify(merged)).digest('hex');
}

/** @returns none where the build had no model files. */
export async function readProvenModels(): Promise<ProvenModels> {
  const text = await readFile(PROVEN_MODELS, 'utf8').catch(() => '[]');
  return new Set(JSON.parse(text) as readonly string[]);
}
