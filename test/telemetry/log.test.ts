/** The log as another process reads it: lines on standard output. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { packageModule } from '../../src/config/package-root.ts';

/** Runs one line of code with a logger, and returns what it wrote. */
async function linesOf(code: string, level = 'info'): Promise<readonly Record<string, unknown>[]> {
  const settings = JSON.stringify({ level, format: 'json', role: 'api' });
  const script = `
    const { createLogger } = await import(${JSON.stringify(packageModule('src/telemetry/log.ts'))});
    const logger = createLogger(${settings});
    ${code}`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script]);
  const lines = stdout.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('the log', () => {
  it('is one JSON object a line, with the role, the time and the fields', async () => {
    const [line, ...others] = await linesOf(`logger.info({ taskId: 'tk' }, 'a message')`);

    assert.deepEqual(others, []);
    assert.equal(line?.['msg'], 'a message');
    assert.equal(line?.['role'], 'api');
    assert.equal(line?.['taskId'], 'tk');
    assert.ok(!Number.isNaN(Date.parse(String(line?.['time']))));
  });

  it('omits what is below its level', async () => {
    const lines = await linesOf(`logger.info('no'); logger.warn('yes')`, 'warn');

    assert.deepEqual(
      lines.map((line) => line['msg']),
      ['yes'],
    );
  });

  it('has the kind, message, code and stack of an error, with its causes, and none of its other fields', async () => {
    const [line] = await linesOf(`
      const cause = Object.assign(new Error('the cause'), { detail: 'Failing row contains (planted)' });
      const err = Object.assign(new TypeError('it failed', { cause }), { code: '23514', detail: 'planted', where: 'planted' });
      logger.error({ err }, 'request failed')`);

    const loggedError = line?.['err'] as Record<string, unknown>;
    assert.deepEqual(Object.keys(loggedError).toSorted(), ['code', 'message', 'stack', 'type']);
    assert.equal(loggedError['type'], 'TypeError');
    assert.match(String(loggedError['message']), /it failed.*the cause/);
    assert.match(String(loggedError['stack']), /caused by: Error: the cause/);
    assert.ok(!JSON.stringify(line).includes('planted'));
  });

  it('omits what is named like a secret, a key or a signature', async () => {
    const [line] = await linesOf(
      `logger.info({ req: { headers: { authorization: 'planted' } }, a: { secret: 'planted', apiKey: 'planted', signature: 'planted' } }, 'x')`,
    );

    assert.ok(!JSON.stringify(line).includes('planted'));
  });
});
