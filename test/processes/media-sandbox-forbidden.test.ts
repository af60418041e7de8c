/** What a process does where it cannot isolate the children that read media: it says so, or does not start. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { ISOLATIONS, probeMediaSandbox } from '@darkroom/media/sandbox';
import type { MediaSandbox } from '@darkroom/media/sandbox';
import { PACKAGE_ROOT, packageModule } from '../../src/config/package-root.ts';

const run = promisify(execFile);

/** Prints what a process detects and does where namespaces are forbidden. */
const FORBIDDEN = `
  const { findMediaSandbox, isolationsOf } = await import('@darkroom/media/sandbox');
  const { prepareMediaSandbox } = await import(${JSON.stringify(packageModule('src/processes/media-sandbox.ts'))});
  const sandbox = await findMediaSandbox();
  const [log, gauge] = [[], {}];
  const logger = { warn: (fields, message) => log.push(message) };
  const metrics = { media: { isolation: (name, isIsolated) => (gauge[name] = isIsolated ? 1 : 0) } };
  await prepareMediaSandbox({ config: { requiresMediaSandbox: false }, logger, metrics });
  const error = await prepareMediaSandbox({ config: { requiresMediaSandbox: true }, logger, metrics }).catch(String);
  console.log(JSON.stringify({ sandbox, isolated: isolationsOf(sandbox), log, gauge, error }));`;

describe('where namespaces are forbidden', { skip: process.platform !== 'linux' }, () => {
  it('a process detects it, logs the reason, and does not start if a sandbox is required', async (t) => {
    // As in a container: no capability, and no user namespace available.
    const forbid =
      'echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all "$@"';
    const sandboxed = ['-r', '/bin/sh', '-c', forbid, 'sh', process.execPath, '--input-type=module', '-e', FORBIDDEN];
    if ((await probeMediaSandbox(['user-namespace'])).confinement === 'none')
      return t.skip('namespaces are forbidden here: nothing is left to forbid');
    const { stdout } = await run('unshare', sandboxed, { cwd: PACKAGE_ROOT });
    const { sandbox, isolated, log, error, gauge } = JSON.parse(stdout) as Record<string, unknown>;
    assert.equal((sandbox as MediaSandbox).confinement, 'limits');
    assert.match((sandbox as MediaSandbox).reasons.join(), /user-namespace: unshare: /);
    assert.deepEqual(isolated, ['no_new_privileges', 'limits']);
    assert.deepEqual(log, ['untrusted media is decoded without a full sandbox']);
    assert.match(String(error), /MEDIA_SANDBOX is required.* mount, pid, network, ipc, user, processes \(.*unshare: /);
    assert.deepEqual(gauge, Object.fromEntries(ISOLATIONS.map((name) => [name, /limits|priv/.test(name) ? 1 : 0])));
  });
});
