import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createCatalogue } from '../../src/catalogue/catalogue.ts';
import { loadModels } from '../../src/catalogue/load-models.ts';
import { compileCheck } from '../../src/schema/schema-validation.ts';
import { packageFile } from '../../src/config/package-root.ts';
import { CreateTaskSchema } from '@darkroom/api/tasks/create-task';
import { PROTOCOLS } from '../../src/providers/protocols.ts';

interface Described {
  readonly description?: string;
  readonly examples?: readonly unknown[];
}

const properties = CreateTaskSchema.properties as unknown as Readonly<Record<string, Described>>;

describe('the schema of a create', () => {
  it('describes every field', () => {
    for (const [name, { description }] of Object.entries(properties)) assert.ok(description, name);
  });

  it('has examples that are valid as they are, model and input together', async () => {
    const check = compileCheck(CreateTaskSchema, 'invalid request');
    const firstExamples = Object.entries(properties).flatMap(([name, { examples = [] }]) =>
      examples.slice(0, 1).map((example) => [name, example] as const),
    );
    const body = Object.fromEntries(firstExamples) as { model: string; input: object };

    assert.equal(check(body), undefined);
    const catalogue = createCatalogue(await loadModels([packageFile('models')], PROTOCOLS));
    assert.equal(catalogue.resolve(body.model, undefined).checkInput(body.input), undefined);
  });
});
