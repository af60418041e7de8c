/**
 * Promises about a compromised media child where this machine forbids a part of the sandbox: exactly this protection
 * is left, and it is logged. And that an ordinary user has all of it.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, chown, copyFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { after, before, describe, it } from 'node:test';
import { PACKAGE_DIRECTORY } from '../src/program-files.ts';
import { ISOLATIONS, isolationsOf, probeMediaSandbox } from '../src/sandbox.ts';
import type { MediaSandbox } from '../src/sandbox.ts';
import { UndecodableMediaError } from '../src/undecodable-media-error.ts';
import type { Outcomes } from './hostile-child.ts';
import { compiled } from './compiled.ts';
import { assertNoneDone, openHostileWorld } from './hostile-world.ts';
import type { HostileWorld } from './hostile-world.ts';
import { CAN_SEE_PROCESSES } from '@darkroom/testing/media-processes';

const run = promisify(execFile);

let world: HostileWorld;
before(async () => {
  world = await openHostileWorld();
});
after(() => world.close());

describe('where nothing may be mounted', { skip: !CAN_SEE_PROCESSES }, () => {
  it('a child can read what our user can read, but reaches neither other processes nor the network', async (t) => {
    const sandbox = await probeMediaSandbox(['namespaces']);
    if (sandbox.confinement === 'none') return t.skip('namespaces are forbidden here');
    assert.deepEqual(missingOf(sandbox), ['mount']);

    const { secret, loopback } = world;
    const [reads = {}, signals = {}, connects = {}] = await world.attack(sandbox, [
      { attack: 'read', paths: [secret] },
      { attack: 'signal', pids: [process.pid, process.ppid].filter((pid) => pid > 20) },
      { attack: 'connect', targets: [loopback, world.abstract] },
    ]);
    assert.deepEqual(reads, { [secret]: 'done' });
    assertNoneDone(signals);
    assertNoneDone(connects);
  });
});

describe('where namespaces are forbidden', { skip: !CAN_SEE_PROCESSES }, () => {
  it('a child can read, signal and connect as our user, but gains no privilege and stays within its limits', async () => {
    const sandbox = await probeMediaSandbox(['limits']);
    assert.equal(sandbox.confinement, 'limits');
    assert.deepEqual(isolationsOf(sandbox), ['no_new_privileges', 'limits']);

    const { secret, loopback } = world;
    const [reads, signals, connects, { capabilities, noNewPrivileges } = {}, { outcome } = {}] = await world.attack(
      sandbox,
      [
        { attack: 'read', paths: [secret] },
        { attack: 'signal', pids: [process.pid] },
        { attack: 'connect', targets: [loopback] },
        { attack: 'privileges' },
        { attack: 'open' },
      ],
    );
    assert.deepEqual(reads, { [secret]: 'done' });
    assert.deepEqual(signals, { [process.pid]: 'done' });
    assert.deepEqual(connects, { [JSON.stringify(loopback)]: 'done' });
    assert.match(capabilities ?? '', /^0,0,\d+,0$/);
    assert.equal(noNewPrivileges, '1');
    assert.equal(outcome, 'EMFILE');
    await assert.rejects(world.attack(sandbox, [{ attack: 'memory' }]), UndecodableMediaError);
    await assert.rejects(world.attack(sandbox, [{ attack: 'cpu' }], { maxCpuSeconds: 3 }), UndecodableMediaError);
  });
});

describe('an ordinary user', { skip: process.getuid?.() !== 0 }, () => {
  it('has the same sandbox: its child cannot read the files of that user', async () => {
    const NOBODY_UID = 65_534;
    const { input } = world;
    const own = path.join(world.directory, 'data/own.json');
    await writeFile(own, 'hush', { mode: 0o600 });
    await chown(own, NOBODY_UID, NOBODY_UID);
    const user = [`--reuid=${NOBODY_UID}`, `--regid=${NOBODY_UID}`, '--clear-groups'];
    const { stdout } = await run('setpriv', [...user, ...programCommand(ordinary(world)), own], {
      cwd: PACKAGE_DIRECTORY,
    });
    const { confinement, ownRead, outcomes } = JSON.parse(stdout) as Record<string, unknown>;
    assert.equal(confinement, 'user-namespace');
    assert.equal(ownRead, 'hush');
    const [otherInput, own1, signals] = outcomes as readonly [Outcomes, Outcomes, Outcomes];
    assert.deepEqual(otherInput, { [input]: 'done' });
    assertNoneDone(own1);
    assertNoneDone(signals);
  });
});

describe(
  'a Node binary that can be executed but not read, as in our container image',
  { skip: process.getuid?.() !== 0 },
  () => {
    it('hides its environment from a child of the same user when namespaces are forbidden', async () => {
      const unreadable = path.join(world.directory, 'node');
      await copyFile(process.execPath, unreadable);
      await chmod(unreadable, 0o711);
      const user = ['--reuid=65534', '--regid=65534', '--clear-groups'];
      const outcomes = [];
      for (const node of [process.execPath, unreadable]) {
        const [, ...program] = programCommand(inspected(world));
        // Not by setpriv itself, which still has root's privileges when it starts a program.
        const { stdout } = await run('setpriv', [...user, '/usr/bin/env', node, ...program], {
          cwd: PACKAGE_DIRECTORY,
        });
        outcomes.push(Object.values(JSON.parse(stdout) as Outcomes));
      }
      assert.deepEqual(outcomes, [
        ['done', 'done'],
        ['EACCES', 'EACCES'],
      ]);
    });
  },
);

/** A module's path as a literal in a program. */
const module = (file: string): string => JSON.stringify(compiled(file));

/** Prints what a hostile child can do when the user is not root. */
const ordinary = ({ child, input }: HostileWorld): string => `
  const { readFileSync } = await import('node:fs');
  const { MediaChild } = await import(${module('src/media-child.ts')});
  const { findMediaSandbox } = await import(${module('src/sandbox.ts')});
  const [own] = process.argv.slice(1);
  const { confinement } = await findMediaSandbox();
  const attacks = [[${JSON.stringify(input)}], [own]].map((paths) => ({ attack: 'read', paths }));
  const child = await MediaChild.start(
    ${JSON.stringify(child)},
    { attacks: [...attacks, { attack: 'signal', pids: [process.pid] }] },
  );
  const { outcomes } = await child.receiveJson();
  await child.end();
  console.log(JSON.stringify({ confinement, ownRead: readFileSync(own, 'utf8'), outcomes }));`;

/** Prints whether a hostile child that only has limits can read its parent's environment and memory map. */
const inspected = ({ child }: HostileWorld): string => `
  const { MediaChild } = await import(${module('src/media-child.ts')});
  const { probeMediaSandbox } = await import(${module('src/sandbox.ts')});
  const sandbox = await probeMediaSandbox(['limits']);
  const paths = ['environ', 'maps'].map((name) => '/proc/' + process.pid + '/' + name);
  const child = await MediaChild.start(
    { ...${JSON.stringify(child)}, sandbox },
    { attacks: [{ attack: 'read', paths }] },
  );
  const { outcomes } = await child.receiveJson();
  await child.end();
  console.log(JSON.stringify(outcomes[0]));`;

function programCommand(program: string): readonly string[] {
  return [process.execPath, '--input-type=module', '-e', program];
}

function missingOf(sandbox: MediaSandbox): readonly string[] {
  const isolations = isolationsOf(sandbox);
  return ISOLATIONS.filter((isolation) => !isolations.includes(isolation));
}
