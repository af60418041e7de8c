/**
 * Fetches the files that providers get from us, before the operator agrees to anything: a run whose files cannot be used
 * is not made, and not counted.
 */
import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { EgressError } from '../../../egress/egress-error.ts';
import { withFormats } from '../../../generation/transcript-formats.ts';
import type { InputFile } from '../../../providers/provider.ts';
import { silentLogger } from '../../../telemetry/log.ts';
import type { SecretSource } from '../../../upstreams/secrets.ts';
import { AdminError } from '../admin-error.ts';
import { createProvider } from '../try/bound-provider.ts';
import { stageMedia } from '../try/input.ts';
import type { OutputReader } from '../try/outputs.ts';
import type { Plan, Run, SkippedRun } from './plan.ts';

/** A run with its files, by their position in the input. */
export interface StagedRun {
  readonly run: Run;
  readonly media: ReadonlyMap<string, InputFile>;
}

interface StageTools {
  readonly secrets: SecretSource;
  readonly outputs: OutputReader;
  /** A directory for the files. */
  readonly scratch: string;
  readonly signal: AbortSignal;
}

/** @throws {AdminError} it was interrupted. */
export async function stageRuns(
  { runs }: Plan,
  tools: StageTools,
): Promise<{ readonly staged: readonly StagedRun[]; readonly skipped: readonly SkippedRun[] }> {
  const staged: StagedRun[] = [];
  const skipped: SkippedRun[] = [];
  for (const [index, run] of runs.entries()) {
    try {
      staged.push({ run, media: await stage(run, path.join(tools.scratch, String(index)), tools) });
    } catch (error) {
      if (tools.signal.aborted) throw new AdminError('it was interrupted; nothing was sent');
      if (!(error instanceof AdminError)) throw error;
      skipped.push({ ...run, reason: error.message });
    }
  }
  return { staged, skipped };
}

async function stage(
  { upstream, definition, input: given }: Run,
  scratch: string,
  { secrets, outputs, signal }: StageTools,
): Promise<ReadonlyMap<string, InputFile>> {
  await mkdir(scratch);
  return stageMedia(createProvider(upstream, definition, { secrets, logger: silentLogger() }), {
    schema: definition.inputSchema,
    input: withFormats(definition, given),
    given: [],
    scratch,
    fetchFile: (url, file) => fetchInput(outputs, url, file, signal),
    option: '--media-url',
  });
}

/** @throws {AdminError} */
async function fetchInput(outputs: OutputReader, url: string, file: string, signal: AbortSignal): Promise<void> {
  try {
    await pipeline(await outputs.readElsewhere(url, signal), createWriteStream(file, { flags: 'wx' }), { signal });
  } catch (error) {
    if (!(error instanceof EgressError)) throw error;
    throw new AdminError(`--media-url: ${url}: ${error.message}`, { cause: error });
  }
}
