/** A text model of an operator's own that answers slowly, so that a test can act in the middle of an answer. */
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { packageFile } from '../../../src/config/package-root.ts';

export const SLOW_TALKER = 'studio/slow-talker';

/** @returns the variables that a Darkroom with this model needs; the caller removes the directory. */
export async function slowTalker(): Promise<{
  readonly directory: string;
  readonly environment: Record<string, string>;
}> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-talker-'));
  const ours = JSON.parse(await readFile(packageFile('models/conformance-text.json'), 'utf8')) as object;
  const upstreams = [{ protocol: 'embedded', model: 'conformance-text', parameters: { tokensPerSecond: 20 } }];
  const definition = { ...ours, name: SLOW_TALKER, ownedBy: 'studio', description: 'Takes its time.', upstreams };
  await writeFile(path.join(directory, 'slow-talker.json'), JSON.stringify(definition));
  return { directory, environment: { MODELS_DIR: directory } };
}
