/** Commands for operators work when they are pasted. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DEFAULT_DATA_DIRECTORY, adminCommand, adminCommandOf } from '../../src/config/admin-command.ts';

describe('the admin command line', () => {
  it('names the data directory when it is not the default one', () => {
    assert.equal(adminCommand(undefined), 'npm run admin --');
    assert.equal(adminCommand(DEFAULT_DATA_DIRECTORY), 'npm run admin --');
    assert.equal(adminCommand('/x'), "npm run admin -- --data-dir '/x'");
    assert.equal(adminCommand("/Ann's data"), String.raw`npm run admin -- --data-dir '/Ann'\''s data'`);
  });

  it('names no npm script in a container, which has none', () => {
    assert.equal(adminCommand(undefined, false), 'admin');
    assert.equal(adminCommand('/data', false), 'admin');
  });

  it('follows from the environment of the processes that npm start runs', () => {
    assert.equal(adminCommandOf({}), 'npm run admin --');
    assert.equal(adminCommandOf({ DATA_DIR: '/x' }), 'npm run admin --');
    assert.equal(adminCommandOf({ DARKROOM_EMBEDDED: 'true' }), 'npm run admin --');
    assert.equal(adminCommandOf({ DARKROOM_EMBEDDED: 'true', DATA_DIR: '/x' }), "npm run admin -- --data-dir '/x'");
  });
});
