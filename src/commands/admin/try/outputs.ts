/** Fetches what a job made as a worker would, and stores it in a directory. */
import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { copyFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { pino } from 'pino';
import { parseAllowList, parseDenyList } from '../../../egress/operator-lists.ts';
import { EgressError } from '../../../egress/egress-error.ts';
import { createEgress } from '../../../egress/guarded-client.ts';
import { createDirectory } from '../../../config/create-directory.ts';
import { EnvironmentReader } from '../../../config/environment.ts';
import type { GenerationRequest, ProducedFile, Provider } from '../../../providers/provider.ts';
import type { Logger } from '../../../telemetry/log.ts';
import { AdminError } from '../admin-error.ts';

const MAX_BYTES = 2 * 1024 * 1024 * 1024;
const TIMEOUT_MS = 600_000;

export interface StoredFile {
  readonly file: string;
  readonly byteLength: number;
}

/** That of its URL, if it looks like one. */
function extensionOf(produced: ProducedFile): string {
  const name = produced.from === 'url' ? new URL(produced.url).pathname : '';
  return /\.[a-z0-9]{1,5}$/i.exec(name)?.[0].toLowerCase() ?? '';
}

/** Fetches what jobs made. */
export interface OutputReader {
  /** What a URL of an output leads to. @throws {EgressError} so does the stream. */
  read(work: OutputOwner, url: string, signal: AbortSignal): Promise<Readable>;
  /** A file that is not the provider's. @throws {EgressError} so does the stream. */
  readElsewhere(url: string, signal: AbortSignal): Promise<Readable>;
  close(): Promise<void>;
}

interface OutputOwner {
  readonly provider: Provider;
  readonly request: GenerationRequest;
}

export function openOutputs(environment: NodeJS.ProcessEnv): OutputReader {
  const read = new EnvironmentReader(environment);
  let blocked = '';
  const egress = createEgress({
    allow: parseAllowList(read.list('EGRESS_ALLOW')),
    deny: parseDenyList(read.list('EGRESS_DENY')),
    ports: read.integers('EGRESS_PORTS'),
    logger: createBlockNotes((problem) => (blocked = problem)),
  });
  const limits = { timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES };
  const readElsewhere = async (url: string, signal: AbortSignal): Promise<Readable> => {
    try {
      return (await egress.download(url, { ...limits, signal, accountId: 'models try' })).body;
    } catch (error) {
      if (!(error instanceof EgressError) || !error.isBarred) throw error;
      // Clients are not to learn the reason; the operator is.
      throw new EgressError(error.kind, `${error.message}: ${blocked}`, { isBarred: true });
    }
  };
  return {
    async read({ provider, request }, url, signal) {
      const found = await provider.download?.(request, url, { ...limits, signal });
      return found?.from === 'upstream' ? found.body : readElsewhere(found?.url ?? url, signal);
    },
    readElsewhere,
    close: () => egress.close(),
  };
}

interface BlockLine {
  readonly msg: string;
  readonly problem?: string;
}

/** A logger that receives why the guarded client did not send a request. */
function createBlockNotes(note: (problem: string) => void): Logger {
  const write = (line: string): void => {
    const { problem } = JSON.parse(line) as BlockLine;
    if (problem !== undefined) note(problem);
  };
  return pino({ base: null, timestamp: false }, { write });
}

/** Creates the directory before anything is paid for. @throws {AdminError} it cannot be created. */
export async function createOutputDirectory(directory: string): Promise<void> {
  await createDirectory(directory).catch((error: Error) => {
    throw new AdminError(`--output ${directory}: ${error.message}`, { cause: error });
  });
}

/** @throws {AdminError} a file could not be fetched. */
export async function storeOutputs(
  files: readonly ProducedFile[],
  directory: string,
  work: OutputOwner,
  environment: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<readonly StoredFile[]> {
  const outputs = openOutputs(environment);
  // Names of their own, so that no earlier result is overwritten.
  const run = randomBytes(3).toString('hex');
  const stored: StoredFile[] = [];
  try {
    for (const [index, produced] of files.entries()) {
      const file = path.join(directory, `${run}-${index}${extensionOf(produced)}`);
      if (produced.from === 'bytes') await writeFile(file, produced.bytes, { flag: 'wx' });
      else if (produced.from === 'file') await copyFile(produced.path, file);
      else {
        const body = await outputs.read(work, produced.url, signal);
        await pipeline(body, createWriteStream(file, { flags: 'wx' }), { signal });
      }
      stored.push({ file, byteLength: (await stat(file)).size });
    }
  } catch (error) {
    if (!(error instanceof EgressError)) throw error;
    throw new AdminError(`outputs.${stored.length}: ${error.message}`, { cause: error });
  } finally {
    await outputs.close();
  }
  return stored;
}
