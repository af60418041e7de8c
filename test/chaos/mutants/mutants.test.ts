/** Mutants are changes of the compiled program's text: each still finds the text that it replaces, once. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { packageFile } from '../../../src/config/package-root.ts';
import { MUTANTS as ATTACK_MUTANTS } from '../../attack/campaign/mutants.ts';
import { MUTANTS } from './mutants.ts';

describe('a mutant of a campaign', () => {
  const attacks = ATTACK_MUTANTS.map(({ attack, patches }) => ({ name: `without a guard against ${attack}`, patches }));
  for (const { name, patches } of [...MUTANTS, ...attacks]) {
    it(`${name} finds each text that it changes once`, async () => {
      for (const { file, find } of patches) {
        const text = await readFile(path.join(packageFile('dist'), file), 'utf8');
        assert.equal(text.split(find).length - 1, 1, `dist/${file}: ${find}`);
      }
    });
  }
});
