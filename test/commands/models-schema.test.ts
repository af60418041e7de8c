/** `admin models schema`: what an editor reads, printed by the real program without an installation. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { modelFileSchema, providerFileSchema } from '../../src/catalogue/file-schemas.ts';
import { PROTOCOLS } from '../../src/providers/protocols.ts';
import { runAdminInHost } from './admin-command.ts';

describe('admin models schema', () => {
  it('prints the JSON Schema of a model file or a provider file, and nothing else', async () => {
    for (const [args, schema] of [
      [[], modelFileSchema(PROTOCOLS)],
      [['model'], modelFileSchema(PROTOCOLS)],
      [['provider'], providerFileSchema(PROTOCOLS)],
    ] as const) {
      const { code, stdout, stderr } = await runAdminInHost(['models', 'schema', ...args], {});

      assert.deepEqual([code, stderr], [0, '']);
      assert.equal(stdout, `${JSON.stringify(schema, null, 2)}\n`);
    }
  });

  it('rejects another kind', async () => {
    const { code, stdout, stderr } = await runAdminInHost(['models', 'schema', 'upstream'], {});

    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /upstream.*Allowed choices are model, provider/);
  });
});
