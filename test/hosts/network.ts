/**
 * Hosts on one machine: Linux network namespaces with an address each, connected by a bridge. What happens between two
 * of them is decided by packet filters, as by a broken switch; processes notice nothing else of it.
 */
import { execFile, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { promisify } from 'node:util';
import { errorCodeOf } from '../../src/domain/darkroom-error.ts';
import type { Launch } from '../../src/standalone/processes.ts';
import { removeLeftovers } from '../support/leftovers.ts';
import { openRunRecords } from '../support/run-records.ts';
import { Router } from './router.ts';

const run = promisify(execFile);

const BRIDGE = 'bridge';
const RECORDS = openRunRecords('hosts');

/** Why there can be no hosts here, for the `skip` of a test; false if there can. */
export function whyNoHosts(): string | false {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'network namespaces need Linux and root';
  const name = `dr-probe-${process.pid}`;
  const made = spawnSync('ip', ['netns', 'add', name], { encoding: 'utf8' });
  if (made.status !== 0) return `no network namespaces here: ${made.stderr || String(made.error)}`;
  const filtered = spawnSync('ip', ['netns', 'exec', name, 'iptables', '-L', '-n'], { encoding: 'utf8' });
  spawnSync('ip', ['netns', 'del', name]);
  return filtered.status === 0 ? false : `no packet filter here: ${filtered.stderr || String(filtered.error)}`;
}

/** `both`: no packet passes. `from`: those from the first to the second are lost, the others pass. */
export type Loss = 'both' | 'from';

export class Network {
  /** Random, so that two runs have networks of their own. */
  readonly #prefix = `10.${randomInt(128, 255)}.${randomInt(0, 255)}`;
  readonly #id = randomInt(0, 0x10_00).toString(16);
  readonly #hosts: Host[] = [];
  #router: Router | undefined;

  /** Removes what runs that were killed have left first. */
  static async open(): Promise<Network> {
    const network = new Network();
    for (const { mark, pid } of await removeLeftovers(RECORDS)) {
      process.stderr.write(`Another run, process ${pid}, has the network ${mark} here; it is left alone.\n`);
    }
    await RECORDS.add({ mark: network.#outer });
    await run('ip', ['netns', 'add', network.#switch]);
    await network.#onSwitch('ip', 'link', 'add', BRIDGE, 'type', 'bridge');
    await network.#onSwitch('ip', 'link', 'set', BRIDGE, 'up');
    const peer = ['peer', 'name', 'outside', 'netns', network.#switch];
    await run('ip', ['link', 'add', network.#outer, 'type', 'veth', ...peer]);
    await network.#onSwitch('ip', 'link', 'set', 'outside', 'master', BRIDGE, 'up');
    await run('ip', ['addr', 'add', `${network.outside}/24`, 'dev', network.#outer]);
    await run('ip', ['link', 'set', network.#outer, 'up']);
    return network;
  }

  /** Of the bridge, where the packet filters of the machine, such as Docker's, do not apply. */
  get #switch(): string {
    return `dr${this.#id}-switch`;
  }

  /** The link from here into the network. */
  get #outer(): string {
    return `dr${this.#id}`;
  }

  async #onSwitch(command: string, ...args: readonly string[]): Promise<void> {
    await run('ip', ['netns', 'exec', this.#switch, command, ...args]);
  }

  /** The address of this process and of all that is not on a host. */
  get outside(): string {
    return `${this.#prefix}.1`;
  }

  get range(): string {
    return `${this.#prefix}.0/24`;
  }

  /** An address that no host has at first: it can move from one to another. */
  get floating(): string {
    return `${this.#prefix}.100`;
  }

  async addHost(name: string): Promise<Host> {
    const number = this.#hosts.length + 10;
    const host = new Host(name, `dr${this.#id}-${name}`, `${this.#prefix}.${number}`);
    this.#hosts.push(host);
    await run('ip', ['netns', 'add', host.namespace]);
    const port = this.#portOf(host);
    await this.#onSwitch('ip', 'link', 'add', port, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', host.namespace);
    await this.#onSwitch('ip', 'link', 'set', port, 'master', BRIDGE, 'up');
    await host.run('ip', 'addr', 'add', `${host.address}/24`, 'dev', 'eth0');
    await host.run('ip', 'link', 'set', 'eth0', 'up');
    await host.run('ip', 'link', 'set', 'lo', 'up');
    return host;
  }

  /** Moves the floating address, which one host at most has. */
  async float(to: Host): Promise<void> {
    for (const host of this.#hosts) await host.run('ip', 'addr', 'flush', 'to', this.floating, 'dev', 'eth0');
    await to.run('ip', 'addr', 'add', `${this.floating}/24`, 'dev', 'eth0');
    // What a gratuitous ARP reply does in a network with switches.
    for (const host of this.#hosts) await host.run('ip', 'neigh', 'flush', 'all');
    await run('ip', ['neigh', 'flush', 'dev', this.#outer]);
  }

  /** @returns ends the loss, and returns how many packets were lost. */
  async lose(one: Host, other: Host, loss: Loss): Promise<() => Promise<number>> {
    const rules: (readonly [Host, readonly string[]])[] = [[other, ['INPUT', '-s', one.address, '-j', 'DROP']]];
    if (loss === 'both') rules.push([one, ['INPUT', '-s', other.address, '-j', 'DROP']]);
    // The other host may be reached by its floating address as well.
    for (const host of [one, other]) {
      if (!(await host.has(this.floating))) continue;
      const peer = host === one ? other : one;
      rules.push([host, ['OUTPUT', '-s', this.floating, '-d', peer.address, '-j', 'DROP']]);
    }
    for (const [host, rule] of rules) await host.run('iptables', '-A', ...rule);
    return async () => {
      let packets = 0;
      for (const [host, rule] of rules) {
        packets += await host.droppedPackets();
        await host.run('iptables', '-D', ...rule);
      }
      return packets;
    };
  }

  /** Makes the way between two hosts a long one. @returns ends it, and returns how many packets took that way. */
  async separate(one: Host, other: Host): Promise<() => Promise<number>> {
    this.#router ??= await Router.start(await this.addHost('router'));
    return this.#router.separate(one, await this.#addressesOf(one), other, await this.#addressesOf(other));
  }

  async #addressesOf(host: Host): Promise<readonly string[]> {
    return (await host.has(this.floating)) ? [host.address, this.floating] : [host.address];
  }

  /** Takes a host off the network, as if its cable were pulled: nothing says goodbye to its peers. */
  async unplug(host: Host): Promise<void> {
    await this.#onSwitch('ip', 'link', 'set', this.#portOf(host), 'nomaster');
  }

  async plug(host: Host): Promise<void> {
    await this.#onSwitch('ip', 'link', 'set', this.#portOf(host), 'master', BRIDGE, 'up');
  }

  /** Of the bridge. */
  #portOf(host: Host): string {
    return `host${host.address.split('.').at(-1)}`;
  }

  async close(): Promise<void> {
    await this.#router?.stop();
    for (const { namespace } of this.#hosts) await run('ip', ['netns', 'del', namespace]);
    await run('ip', ['netns', 'del', this.#switch]);
    await RECORDS.remove(this.#outer);
  }
}

export class Host {
  readonly name: string;
  readonly namespace: string;
  readonly address: string;

  constructor(name: string, namespace: string, address: string) {
    this.name = name;
    this.namespace = namespace;
    this.address = address;
  }

  /** Runs a command until it ends. @returns its output. */
  async run(command: string, ...args: readonly string[]): Promise<string> {
    const { stdout } = await run('ip', ['netns', 'exec', this.namespace, command, ...args]);
    return stdout;
  }

  /** The launch of a process on this host; entering it needs root, which the process does not keep. */
  launch({ command, args, environment, user, ...rest }: Launch): Launch {
    const as =
      user === undefined ? [] : ['setpriv', `--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups', '--'];
    return {
      ...rest,
      command: 'ip',
      args: ['netns', 'exec', this.namespace, ...as, command, ...args],
      environment,
    };
  }

  /** Sends a signal to all that runs on it; what PostgreSQL starts is in process groups of its own. */
  async signal(signal: NodeJS.Signals): Promise<void> {
    const { stdout } = await run('ip', ['netns', 'pids', this.namespace]);
    for (const pid of stdout.split('\n').filter((line) => line !== '')) {
      try {
        process.kill(Number(pid), signal);
      } catch (error) {
        // It has ended meanwhile.
        if (errorCodeOf(error) !== 'ESRCH') throw error;
      }
    }
  }

  /** How many packets its filters have dropped since their rules were added. */
  async droppedPackets(): Promise<number> {
    const rules = (await this.run('iptables', '-L', '-n', '-v', '-x'))
      .split('\n')
      .filter((line) => line.includes('DROP'));
    return rules.reduce((sum, line) => sum + Number.parseInt(line.trim(), 10), 0);
  }

  async has(address: string): Promise<boolean> {
    return (await this.run('ip', '-4', 'addr', 'show', 'dev', 'eth0')).includes(` ${address}/`);
  }
}
