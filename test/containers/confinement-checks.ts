/** How the containers are confined, checked in the running ones, as the user that a media child also has. */
import assert from 'node:assert/strict';
import type { Check } from './checks.ts';

/** Of Docker's default profile, which forbids namespaces: docs/decisions/0019. */
const ISOLATED = ['no_new_privileges', 'limits'];
const NOT_ISOLATED = ['mount', 'pid', 'network', 'ipc', 'user', 'processes'];

/** Reads the environment of every process of the container, as a compromised media child would. */
const LOOK_AROUND = `
for process in /proc/[0-9]*; do
  if tr '\\0' '\\n' < "$process/environ" 2>/dev/null | grep -q '^URL_SIGNING_KEY=.'; then
    case "$(cat "$process/comm")" in sh|tr|grep|cat) ;; *) cat "$process/comm" ;; esac
  fi
done`;

export const CONFINEMENT_CHECKS: readonly Check[] = [
  {
    name: 'the log of both roles says what a media child is not isolated from',
    async check({ engine, stack }) {
      for (const role of ['api', 'worker']) {
        const log = await engine.docker(['logs', await stack.containerOf(role)]);
        const line = log.split('\n').find((text) => text.includes('without a full sandbox')) ?? '{}';
        const { missing } = JSON.parse(line) as { missing?: readonly string[] };
        assert.deepEqual(missing, NOT_ISOLATED, `${role}: ${line}`);
      }
      return `isolated: ${ISOLATED.join(', ')}`;
    },
  },
  {
    name: 'MEDIA_SANDBOX=required stops the worker at start, with the reason',
    async check({ stack }) {
      const required = ['run', '--rm', '-T', '--no-deps', '-e', 'MEDIA_SANDBOX=required', 'worker'];
      await assert.rejects(stack.compose(...required), (error: Error) => {
        assert.match(error.message, /ended with 78/);
        assert.match(error.message, /MEDIA_SANDBOX/);
        assert.match(error.message, /unshare/);
        return true;
      });
      return undefined;
    },
  },
  {
    name: 'no process of a role shows its secrets to another process of its user',
    async check({ engine, stack }) {
      for (const role of ['api', 'worker']) {
        const container = await stack.containerOf(role);
        const look = ['env', '-u', 'URL_SIGNING_KEY', 'sh', '-c', LOOK_AROUND];
        const readable = await engine.docker(['exec', container, ...look]);
        assert.equal(readable, '', `${role}: the environment of ${readable} can be read`);
      }
      return undefined;
    },
  },
  {
    name: 'every container runs without capabilities, new privileges and a writable image',
    async check({ engine, stack }) {
      for (const service of ['postgres', 'temporal', 'temporal-ui', 'api', 'worker', 'proxy']) {
        const container = await stack.containerOf(service);
        const script = 'cat /proc/1/status; touch /written 2>/dev/null && echo IMAGE IS WRITABLE; true';
        const status = await engine.docker(['exec', container, 'sh', '-c', script]);
        // Bit 10: CAP_NET_BIND_SERVICE.
        const bounding = service === 'proxy' ? '0000000000000400' : '0000000000000000';
        assert.match(status, new RegExp(`^CapBnd:\\s+${bounding}$`, 'm'), service);
        assert.match(status, /^NoNewPrivs:\s+1$/m, service);
        assert.match(status, /^Seccomp:\s+2$/m, service);
        assert.doesNotMatch(status, /IMAGE IS WRITABLE/, service);
      }
      return undefined;
    },
  },
];
