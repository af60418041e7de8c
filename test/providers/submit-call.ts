/** The arguments of a submit in tests of adapters, with a scratch directory of the process. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { SubmitCall } from '../../src/providers/provider.ts';

const scratch = mkdtempSync(path.join(tmpdir(), 'darkroom-scratch-'));
process.once('exit', () => rmSync(scratch, { recursive: true, force: true }));

export function submitCall(changes: Partial<SubmitCall> = {}): SubmitCall {
  return {
    accountId: 'someone',
    signal: new AbortController().signal,
    scratch,
    onProgress: () => undefined,
    ...changes,
  };
}
