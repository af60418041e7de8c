/**
 * PHP for wide tests: the `php` of the machine, or otherwise PHP as WebAssembly, which is installed from npm, once,
 * into the user's cache directory; only the wide tests depend on it.
 */
import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { cacheDirectory } from '../deploy/go-programs.ts';
import { startReceiverProgram } from '../support/verifying-receiver.ts';
import type { ReceiverSetting, RunningReceiver } from '../support/verifying-receiver.ts';

/** PHP 8.3. The newest ones require a newer Node than we do. */
const WASM = { name: '@php-wasm/node-8-3', version: '3.0.54' };
/** The machine's own. */
const PROGRAM = 'php';
const INSTALL_TIMEOUT_MS = 5 * 60_000;

/** How one file of PHP is served; or why it cannot be. */
export type Php =
  | { readonly missing: string }
  | { readonly missing: false; readonly serve: (file: string, setting: ReceiverSetting) => Promise<RunningReceiver> };

export async function findPhp(): Promise<Php> {
  if (spawnSync(PROGRAM, ['-r', 'exit(PHP_MAJOR_VERSION >= 8 ? 0 : 1);']).status === 0) {
    return {
      missing: false,
      serve: async (file, setting) => startReceiverProgram(setting, [PROGRAM, '-S', `127.0.0.1:${setting.port}`, file]),
    };
  }
  try {
    const directory = await obtainWasm();
    return { missing: false, serve: (file, setting) => serveByWasm(directory, file, setting) };
  } catch (error) {
    const why = error instanceof Error ? error.message.split('\n')[0] : String(error);
    return {
      missing: `no PHP: put PHP 8 or newer on the PATH, or let npm install ${WASM.name} ${WASM.version} (${why})`,
    };
  }
}

/** @returns the directory in which it is installed. */
async function obtainWasm(): Promise<string> {
  const { name, version } = WASM;
  const directory = path.join(cacheDirectory(), `php-wasm-${version}`);
  if (existsSync(directory)) return directory;
  await mkdir(path.dirname(directory), { recursive: true });
  const building = await mkdtemp(`${directory}-building-`);
  try {
    process.stderr.write(`Installing ${name} ${version} from npm, once; it takes 70 MB.\n`);
    await writeFile(path.join(building, 'package.json'), JSON.stringify({ private: true }));
    const install = ['install', '--ignore-scripts', '--no-audit', '--no-fund', `${name}@${version}`];
    await promisify(execFile)('npm', install, { cwd: building, timeout: INSTALL_TIMEOUT_MS });
    // Atomically: another run may be doing the same.
    await rename(building, directory).catch((error: unknown) => {
      if (!existsSync(directory)) throw error;
    });
  } finally {
    await rm(building, { recursive: true, force: true });
  }
  return directory;
}

/** What we use of the packages, which are not installed when types are checked. */
interface WasmRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}
interface WasmAnswer {
  readonly httpStatusCode: number;
  readonly bytes: Uint8Array;
  /** PHP's log. */
  readonly errors: string;
}
interface WasmPhp {
  mkdir(directory: string): void;
  writeFile(file: string, content: Uint8Array): void;
  exit(): void;
}
interface WasmBuild {
  readonly getPHPLoaderModule: () => Promise<unknown>;
}
interface Wasm {
  readonly loadPHPRuntime: (loader: unknown, options: { readonly ENV: Record<string, string> }) => Promise<number>;
  readonly PHP: new (runtime: number) => WasmPhp;
  readonly PHPRequestHandler: new (options: {
    readonly phpFactory: () => Promise<WasmPhp>;
    readonly documentRoot: string;
    readonly absoluteUrl: string;
  }) => { request(request: WasmRequest): Promise<WasmAnswer> };
}

/** Works like `php -S`: one file answers every request, and receives headers and body unchanged. */
async function serveByWasm(
  packages: string,
  file: string,
  { directory, secret, port }: ReceiverSetting,
): Promise<RunningReceiver> {
  const { resolve } = createRequire(path.join(packages, 'package.json'));
  const load = async (name: string): Promise<unknown> => import(pathToFileURL(resolve(name)).href);
  const { getPHPLoaderModule } = (await load(WASM.name)) as WasmBuild;
  const { PHP, PHPRequestHandler, loadPHPRuntime } = (await load('@php-wasm/universal')) as Wasm;
  const php = new PHP(await loadPHPRuntime(await getPHPLoaderModule(), { ENV: { DARKROOM_WEBHOOK_SECRET: secret } }));
  php.mkdir('/app');
  php.writeFile('/app/index.php', await readFile(path.join(directory, file)));
  const handler = new PHPRequestHandler({
    phpFactory: async () => php,
    documentRoot: '/app',
    absoluteUrl: `http://127.0.0.1:${port}`,
  });
  let said = '';
  const server = createServer((request, response) => {
    void (async () => {
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
      const body = new Uint8Array(await buffer(request));
      const answer = await handler.request({ method: request.method ?? '', url: '/index.php', headers, body });
      said += answer.errors;
      response.writeHead(answer.httpStatusCode).end(answer.bytes);
    })().catch((error: unknown) => {
      said += String(error);
      response.destroy();
    });
  });
  server.listen(port, '127.0.0.1');
  return {
    said: () => said,
    async stop() {
      server.close();
      server.closeAllConnections();
      php.exit();
    },
  };
}
