/**
 * Downloads the Temporal CLI from its vendor, from the address that Temporal's own SDKs use. The address publishes no
 * checksum, so only TLS to the vendor authenticates the file.
 */
import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { chmod, mkdtemp, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The request to a source of the CLI. */
export interface TemporalCliRequest {
  readonly version: string;
  /** The file that must exist afterwards. It is written atomically. */
  readonly target: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly report: (line: string) => void;
  readonly signal: AbortSignal;
}

const INFO_URL = 'https://temporal.download/cli';
/** An unreachable host must cost only seconds: building from source comes next. */
const INFO_TIMEOUT_MS = 5_000;
/** 50 MB over a slow connection. */
const ARCHIVE_TIMEOUT_MS = 600_000;

/** @throws {Error} with one line that says why the download failed. */
export async function downloadTemporalCli(request: TemporalCliRequest): Promise<void> {
  const info = await fetchDownloadInfo(request.version);
  request.report(`Downloading the Temporal CLI ${request.version} (about 50 MB, once).`);
  const directory = await mkdtemp(path.join(path.dirname(request.target), 'download-'));
  try {
    const archive = path.join(directory, 'archive.tar.gz');
    const response = await fetch(info.archiveUrl, {
      signal: AbortSignal.any([request.signal, AbortSignal.timeout(ARCHIVE_TIMEOUT_MS)]),
    });
    if (!response.ok || response.body === null) throw new Error(`${info.archiveUrl} answered ${response.status}`);
    await pipeline(Readable.fromWeb(response.body), createWriteStream(archive));
    await run('tar', ['-xzf', archive, '-C', directory]);
    const extracted = path.join(directory, path.normalize(info.fileToExtract));
    await chmod(extracted, 0o755);
    await rename(extracted, request.target);
  } catch (error) {
    throw new Error(`the download of the Temporal CLI failed: ${reasonOf(error)}`, { cause: error });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function fetchDownloadInfo(version: string): Promise<{ archiveUrl: string; fileToExtract: string }> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  const url = `${INFO_URL}/v${version}?platform=${platform}&arch=${arch}&format=tar.gz`;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(INFO_TIMEOUT_MS) });
    if (!response.ok) throw new Error(`it answered ${response.status}`);
    const info: unknown = await response.json();
    if (typeof info === 'object' && info !== null && 'archiveUrl' in info && 'fileToExtract' in info) {
      const { archiveUrl, fileToExtract } = info;
      const isUsable = typeof archiveUrl === 'string' && archiveUrl.startsWith('https://');
      if (isUsable && typeof fileToExtract === 'string') return { archiveUrl, fileToExtract };
    }
    throw new Error('its answer was not understood');
  } catch (error) {
    throw new Error(`${new URL(INFO_URL).host} cannot be used: ${reasonOf(error)}`, { cause: error });
  }
}

/** fetch only reports "fetch failed" and keeps the reason in its cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
