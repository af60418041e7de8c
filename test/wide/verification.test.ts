/**
 * The dashboard's verification code in Python, Go and PHP, against deliveries of a real Darkroom. Each is skipped,
 * with the reason, if its language is not available.
 */
import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { describeReceiver, startReceiverProgram } from '../support/verifying-receiver.ts';
import { findPhp } from './php-environment.ts';

const BUILD_TIMEOUT_MS = 300_000;

const hasPython = spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 9))']).status === 0;
const goVersion = /^go1\.(\d+)/.exec(spawnSync('go', ['env', 'GOVERSION'], { encoding: 'utf8' }).stdout ?? '')?.[1];
const hasGo = Number(goVersion ?? 0) >= 22;
const php = await findPhp();

describeReceiver('Python', {
  skip: hasPython ? false : 'no Python: put python3, 3.9 or newer, on the PATH',
  source: 'receiver.py',
  start: async (setting) => startReceiverProgram(setting, ['python3', 'receiver.py']),
});

describeReceiver('Go', {
  skip: hasGo ? false : 'no Go: put go, 1.22 or newer, on the PATH',
  source: 'receiver.go',
  async start(setting) {
    // The first build compiles all dependencies, which takes longer than any timeout here.
    await promisify(execFile)('go', ['build', '-o', 'built', 'receiver.go'], {
      cwd: setting.directory,
      timeout: BUILD_TIMEOUT_MS,
    });
    return startReceiverProgram(setting, ['go', 'run', 'receiver.go']);
  },
});

describeReceiver('PHP', {
  skip: php.missing,
  source: 'receiver.php',
  start: (setting) =>
    php.missing === false ? php.serve('receiver.php', setting) : Promise.reject(new Error(php.missing)),
});
