/** What a killed run leaves on the machine is removed by the next one; what a live run has, stays. */
import assert from 'node:assert/strict';
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { whyNoHosts } from '../hosts/network.ts';
import { linksIn, removeLeftovers } from './leftovers.ts';
import { openRunRecords } from './run-records.ts';
import type { RunRecords } from './run-records.ts';

const run = promisify(execFile);

/** No process has had it. */
const DEAD = { pid: process.pid, startToken: 'of another process' };

describe('what killed runs leave on the machine', { skip: whyNoHosts() }, () => {
  let directory: string;
  let records: RunRecords;
  const marks = ['dead', 'live'].map((name) => `dr${name}${(process.pid % 0x10_00).toString(16)}`);
  const [dead = '', live = ''] = marks;
  before(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-leftovers-'));
    records = openRunRecords('hosts', directory);
  });
  after(async () => {
    for (const mark of marks) await records.add({ mark }, DEAD);
    await removeLeftovers(records);
    await rm(directory, { recursive: true, force: true });
  });

  const ip = (...args: readonly string[]): Promise<unknown> => run('ip', args);

  /** A bridge with a port of any name, a namespace with a process, and a rule: what the runs make. */
  async function makeAll(mark: string, third: number): Promise<void> {
    await ip('netns', 'add', `${mark}-host`);
    await ip('link', 'add', `${mark}-0`, 'type', 'bridge');
    await ip('addr', 'add', `198.18.${third}.1/24`, 'dev', `${mark}-0`);
    await ip('link', 'add', `v${mark}`, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', `${mark}-host`);
    await ip('link', 'set', `v${mark}`, 'master', `${mark}-0`);
    await run('iptables', ['-A', 'FORWARD', '-i', `${mark}-0`, '!', '-o', `${mark}-0`, '-j', 'ACCEPT']);
  }

  async function remaining(mark: string): Promise<readonly string[]> {
    const outputs = await Promise.all([
      run('ip', ['-br', 'link', 'show']),
      run('ip', ['netns', 'list']),
      run('iptables', ['-S']),
    ]);
    return outputs.flatMap(({ stdout }) => stdout.split('\n').filter((line) => line.includes(mark)));
  }

  it('is removed where the run is dead, with its processes, and left where it is alive', async () => {
    await records.add({ mark: dead, directory: path.join(directory, 'engine') }, DEAD);
    await records.add({ mark: live });
    await mkdir(path.join(directory, 'engine'));
    await makeAll(dead, 18);
    await makeAll(live, 19);
    const waiting = ['--eval', 'setInterval(() => {}, 1000)'];
    const onHost = spawn('ip', ['netns', 'exec', `${dead}-host`, process.execPath, ...waiting], { stdio: 'ignore' });
    const engine = spawn(process.execPath, [...waiting, `${directory}/engine/exec`], { stdio: 'ignore' });
    const ended = [once(onHost, 'exit'), once(engine, 'exit')];
    assert.deepEqual(await linksIn('198.18.18.0/24'), [`${dead}-0`]);

    const alive = await removeLeftovers(records);

    assert.deepEqual(
      alive.map(({ mark, pid }) => ({ mark, pid })),
      [{ mark: live, pid: process.pid }],
    );
    assert.deepEqual(await remaining(dead), []);
    assert.deepEqual(await linksIn('198.18.18.0/24'), []);
    assert.equal(existsSync(path.join(directory, 'engine')), false);
    for (const [, signal] of await Promise.all(ended)) assert.equal(signal, 'SIGKILL');
    // A port, a bridge, a namespace and a rule.
    assert.equal((await remaining(live)).length, 4);
    assert.deepEqual(
      (await records.list()).map(({ mark }) => mark),
      [live],
    );
  });

  it('is not looked for where no run has a record', async () => {
    assert.deepEqual(await removeLeftovers(openRunRecords('containers', directory)), []);
    assert.equal(spawnSync('ip', ['netns', 'list']).status, 0);
  });
});
