/**
 * A host through which pairs of others reach each other when they are far apart: their packets wait there (router/
 * main.go). Connections that exist notice nothing else of it.
 */
import { execFile, spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { waitFor } from '@darkroom/testing/wait-for';
import { packageFile } from '../../src/config/package-root.ts';
import type { Host } from './network.ts';

const DEVICE = 'far0';
/** In each direction: that of another continent. */
const DELAY_MS = 100;
const BUILD_TIMEOUT_MS = 5 * 60_000;

/** Why hosts cannot be far apart here, for the `skip` of a test; false if they can. */
export function whyNoRouter(): string | false {
  if (!existsSync('/dev/net/tun')) return 'latency needs /dev/net/tun';
  return spawnSync('go', ['version']).status === 0 ? false : 'put Go on the PATH, and the router is built from source';
}

export class Router {
  readonly #host: Host;
  readonly #child: ChildProcess;
  readonly #directory: string;

  private constructor(host: Host, child: ChildProcess, directory: string) {
    this.#host = host;
    this.#child = child;
    this.#directory = directory;
  }

  static async start(host: Host): Promise<Router> {
    const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-router-'));
    const program = path.join(directory, 'router');
    await promisify(execFile)('go', ['build', '-o', program, packageFile('test/hosts/router/main.go')], {
      timeout: BUILD_TIMEOUT_MS,
    });
    const launch = host.launch({
      command: program,
      args: ['-device', DEVICE, '-delay', `${DELAY_MS}ms`],
      environment: process.env,
    });
    const child = spawn(launch.command, [...launch.args], { stdio: ['ignore', 'ignore', 'inherit'] });
    const router = new Router(host, child, directory);
    try {
      await router.#configure();
      return router;
    } catch (error) {
      await router.stop();
      throw error;
    }
  }

  /** Sends packets between the two through this host. @returns ends it, and returns how many packets were late. */
  async separate(
    one: Host,
    addressesOfOne: readonly string[],
    other: Host,
    addressesOfOther: readonly string[],
  ): Promise<() => Promise<number>> {
    const routes = [
      ...addressesOfOther.map((address) => [one, address] as const),
      ...addressesOfOne.map((address) => [other, address] as const),
    ];
    const before = await this.#packets();
    for (const [host, address] of routes) await host.run('ip', 'route', 'add', address, 'via', this.#host.address);
    return async () => {
      for (const [host, address] of routes) await host.run('ip', 'route', 'del', address);
      return (await this.#packets()) - before;
    };
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGKILL');
    await rm(this.#directory, { recursive: true, force: true });
  }

  /** What comes from the others goes into the device; what comes out of it goes to them. */
  async #configure(): Promise<void> {
    await waitFor('the device of the router is there', async () => {
      if (this.#child.exitCode !== null) throw new Error('the router ended');
      return (await this.#host.run('ip', 'link', 'show')).includes(` ${DEVICE}:`);
    });
    const settings = ['all', 'eth0', DEVICE].flatMap((name) => [
      `echo 0 > conf/${name}/rp_filter`,
      `echo 0 > conf/${name}/send_redirects`,
    ]);
    await this.#host.run('sh', '-ec', ['cd /proc/sys/net/ipv4', 'echo 1 > ip_forward', ...settings].join('\n'));
    await this.#host.run('ip', 'link', 'set', DEVICE, 'up');
    await this.#host.run('ip', 'route', 'add', 'default', 'dev', DEVICE, 'table', '100');
    await this.#host.run('ip', 'rule', 'add', 'iif', 'eth0', 'lookup', '100');
  }

  /** How many have passed. */
  async #packets(): Promise<number> {
    const output = await this.#host.run('ip', '-s', '-j', 'link', 'show', 'dev', DEVICE);
    const [device] = JSON.parse(output) as [{ stats64: { tx: { packets: number } } }];
    return device.stats64.tx.packets;
  }
}
