/**
 * The environment of a compromised media child in the tests of the sandbox: a secret, a file that it is given, a
 * socket of each kind, and a function to make it attempt an attack.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { MediaChild } from '../src/media-child.ts';
import type { MediaChildOptions } from '../src/media-child.ts';
import { GIVE_UP_MS } from '@darkroom/testing/wait-for';
import type { MediaSandbox } from '../src/sandbox.ts';
import { compiled } from './compiled.ts';
import type { Attack, Outcomes } from './hostile-child.ts';

/** A destination for a connection. */
interface Target {
  readonly port?: number;
  readonly host?: string;
  readonly path?: string;
}

export interface HostileWorld {
  readonly directory: string;
  /** Readable only by our user, like the files of the data directory. */
  readonly secret: string;
  readonly input: string;
  readonly loopback: Target;
  readonly abstract: Target;
  /** The options that a hostile child is started with. */
  readonly child: MediaChildOptions & { readonly readable: readonly string[] };
  /** Makes a child attempt attacks one after the other. @returns the outcome of each. */
  attack(
    sandbox: MediaSandbox,
    attacks: readonly Attack[],
    options?: Partial<MediaChildOptions>,
  ): Promise<readonly Outcomes[]>;
  /** The running hostile children of this world, wherever they are. */
  processes(): readonly string[];
  close(): Promise<void>;
}

export async function openHostileWorld(): Promise<HostileWorld> {
  const directory = await mkdtemp(path.join(tmpdir(), 'sandbox-'));
  // The child may run as another user.
  await chmod(directory, 0o755);
  await mkdir(path.join(directory, 'data'));
  const secret = path.join(directory, 'data/secrets.json');
  await writeFile(secret, '{"encryptionKey":"hush"}', { mode: 0o600 });
  const input = path.join(directory, 'given file');
  await writeFile(input, 'given');
  // A module of its own, so that the children of this world are identified by their command lines.
  const program = compiled('test/hostile-child.ts');
  const entry = path.join(directory, 'hostile.mjs');
  await writeFile(entry, `import ${JSON.stringify(program)};`);
  const child = {
    module: entry,
    isUntrusted: true,
    maxMemoryMb: 250,
    readable: [program, input],
  };
  const abstractName = `\0darkroom-${path.basename(directory)}`;
  const tcp = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  const abstract = createServer((socket) => socket.destroy()).listen(abstractName);
  await Promise.all([once(tcp, 'listening'), once(abstract, 'listening')]);
  return {
    directory,
    secret,
    input,
    child,
    loopback: { port: (tcp.address() as AddressInfo).port, host: '127.0.0.1' },
    abstract: { path: abstractName },
    async attack(sandbox, attacks, options = {}) {
      const running = await MediaChild.start({ ...child, sandbox, ...options }, { attacks });
      try {
        const { outcomes } = await running.receiveJson(GIVE_UP_MS);
        return outcomes as Outcomes[];
      } finally {
        await running.end();
      }
    },
    processes: () => readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && commandOf(pid).includes(entry)),
    async close() {
      tcp.close();
      abstract.close();
      await rm(directory, { recursive: true });
    },
  };
}

/** A process that has ended has none. */
export function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

export function assertNoneDone(outcomes: Outcomes | undefined): void {
  assert.ok(outcomes !== undefined && Object.keys(outcomes).length > 0);
  assert.deepEqual(
    Object.entries(outcomes).filter(([, outcome]) => outcome === 'done'),
    [],
  );
}
