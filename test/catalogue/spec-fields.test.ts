/**
 * The embedded models cover the table of spec §2.5, in both directions: some model follows each observed value,
 * range, set and maximum, and no model has a field that is neither there nor on the short list of ours.
 */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { isEngineName } from '@darkroom/engines/engine-names';
import { mediaOf } from '../../src/tasks/record/input-media.ts';
import { SPEC_FIELDS, describeCell, embeddedModels, enumOf, evaluateCell, observedValues } from './spec-fields.ts';
import type { EmbeddedModel } from './spec-fields.ts';

let models: readonly EmbeddedModel[];
before(async () => {
  models = await embeddedModels();
});

const CELLS = SPEC_FIELDS.rows.flatMap(({ cells }) => cells);

describe('the table of fields', () => {
  it('has the rows of the specification, and an observation about every field', () => {
    assert.equal(SPEC_FIELDS.rows.length, 17);
    for (const { fields, cells } of SPEC_FIELDS.rows) {
      assert.deepEqual(
        fields.filter((field) => !cells.some((cell) => cell.field === field)),
        [],
      );
    }
  });

  for (const cell of CELLS) {
    // Proves S8-4, S8-5.
    it(`is followed by one embedded model and rejected by another: ${cell.field} ${describeCell(cell)}`, () => {
      const { acceptedBy, rejectedBy } = evaluateCell(cell, models);

      assert.notDeepEqual(acceptedBy, []);
      // Nearly every model has a prompt; speech has none.
      assert.notDeepEqual(rejectedBy, []);
    });
  }
});

describe('the embedded models', () => {
  it('have no field that is neither in the table nor on the list of additions', () => {
    const known = new Set(CELLS.map(({ field }) => field));
    const others = models.flatMap(({ definition, fields }) =>
      fields.filter((field) => !known.has(field)).map((field) => `${definition.name} ${field}`),
    );

    assert.deepEqual(
      others.sort(),
      SPEC_FIELDS.additive.flatMap(({ field, models }) => models.map((name) => `${name} ${field}`)).sort(),
    );
  });

  it('accept no shape and no resolution that was never observed', () => {
    for (const field of ['aspect_ratio', 'resolution']) {
      const observed = new Set<unknown>(observedValues(field));
      for (const model of models) {
        assert.deepEqual(
          enumOf(model, field).filter((value) => !observed.has(value)),
          [],
          model.definition.name,
        );
      }
    }
  });

  it('reject every unknown field by name', () => {
    for (const { problemOf, fields } of models) {
      for (const { field } of CELLS) {
        if (fields.includes(field)) continue;
        assert.equal(problemOf({ [field]: 'x' }), `additional properties not allowed: ${field}`);
      }
    }
  });

  it('reject a prompt, a text and lyrics of white space alone, and accept any with one visible character', () => {
    let texts = 0;
    for (const { definition, problemOf, fields } of models) {
      for (const field of ['prompt', 'text', 'lyrics']) {
        if (!fields.includes(field)) continue;
        texts += 1;
        for (const blank of [' ', '\t\n\r ', '\u00a0\u3000\u2003\ufeff', ' '.repeat(1_000)]) {
          const problem = problemOf({ [field]: blank }) ?? `${definition.name} takes it`;
          assert.match(problem, new RegExp(`^invalid input: ${field}: pattern: got ".+, want more than white space$`));
        }
        assert.equal(problemOf({ [field]: ' \n·\n ' }), undefined, definition.name);
      }
    }
    assert.ok(texts >= models.length);
  });

  it('reject values in the wrong case', () => {
    for (const model of models) {
      for (const field of model.fields) {
        for (const value of enumOf(model, field)) {
          if (typeof value !== 'string') continue;
          const other = value === value.toLowerCase() ? value.toUpperCase() : value.toLowerCase();
          if (other === value) continue;
          assert.match(model.problemOf({ [field]: other }) ?? '', new RegExp(`^invalid input: ${field}: enum: got "`));
        }
      }
    }
  });

  it('limit the length of every text and every list', () => {
    const unbounded: string[] = [];
    const visit = (schema: Record<string, unknown>, path: string): void => {
      if (schema['type'] === 'string' && schema['enum'] === undefined && schema['maxLength'] === undefined) {
        unbounded.push(path);
      }
      if (schema['type'] === 'array' && schema['maxItems'] === undefined) unbounded.push(path);
      if (schema['items'] !== undefined) visit(schema['items'] as Record<string, unknown>, `${path}.items`);
    };
    for (const { definition } of models) {
      const properties = definition.inputSchema['properties'] as Record<string, Record<string, unknown>>;
      for (const [name, schema] of Object.entries(properties)) visit(schema, `${definition.name} ${name}`);
    }

    assert.deepEqual(unbounded, []);
  });

  it('mark every field that accepts media, with the kind that it accepts', () => {
    const expected = (field: string): string | undefined => {
      if (/^(image|image_url|image_urls|reference_image_urls)$/.test(field)) return 'image/*';
      if (/^(start_video|reference_video_urls)$/.test(field)) return 'video/*';
      return field === 'reference_audio_urls' ? 'audio/*' : undefined;
    };
    for (const { definition, fields, problemOf } of models) {
      for (const field of fields) {
        const value = problemOf({ [field]: ['https://example.com/a'] }) === undefined ? ['https://example.com/a'] : 'a';
        const marked = mediaOf(definition.inputSchema, { [field]: value }).map(({ accepts }) => accepts);
        const kind = expected(field);
        assert.deepEqual(marked, kind === undefined ? [] : [[kind]], `${definition.name} ${field}`);
      }
    }
  });

  it('each have an engine in this version, and a correct description', () => {
    for (const { definition } of models) {
      for (const { upstreams } of Object.values(definition.routes)) {
        for (const { protocol, model } of upstreams) {
          assert.equal(protocol, 'embedded');
          assert.ok(isEngineName(model), `${definition.name}: there is no engine ${model}`);
        }
      }
      if (definition.name !== 'darkroom/speech') assert.match(definition.description, /^Procedural: /);
    }
  });

  it('price a draft at a quarter, and count images, seconds and characters', () => {
    const units = new Map(models.map(({ definition }) => [definition.name, definition.pricing.unit]));
    for (const { definition } of models) {
      const expected = definition.modality === 'image' ? 'image' : 'second';
      assert.equal(units.get(definition.name), definition.name === 'darkroom/speech' ? 'character' : expected);
    }
    const [draft] = models
      .flatMap(({ definition }) => definition.pricing.factors ?? [])
      .filter(({ field }) => field === 'draft');
    assert.deepEqual(draft, { field: 'draft', value: true, factor: '0.25', default: false });
  });
});
