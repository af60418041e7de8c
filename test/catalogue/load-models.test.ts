import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createCatalogue } from '../../src/catalogue/catalogue.ts';
import { ModelFileError, ModelFilesError, readModelTexts } from '../../src/catalogue/model-files.ts';
import { createModelReader, loadModels } from '../../src/catalogue/load-models.ts';
import { worstCaseCost } from '../../src/catalogue/price.ts';
import { packageFile } from '../../src/config/package-root.ts';
import { isMediaModel } from '../../src/catalogue/text-definition.ts';
import { definition, textDefinition } from './definitions.ts';
import { PROTOCOLS } from '../../src/providers/protocols.ts';

describe('the embedded models', () => {
  // Proves C8-3.
  it('all load, and every example conforms to its own schema and has a price', async () => {
    const directory = packageFile('models');
    const models = await loadModels([directory], PROTOCOLS);

    assert.equal(models.length, (await readdir(directory)).filter((name) => name.endsWith('.json')).length);
    const catalogue = createCatalogue(models);
    for (const model of models.filter(isMediaModel)) {
      const { checkInput } = catalogue.resolve(model.name, undefined);
      assert.ok(model.examples.length > 0, model.name);
      for (const example of model.examples) {
        assert.equal(checkInput(example), undefined, model.name);
        assert.ok(worstCaseCost(model.pricing, example) > 0n, model.name);
      }
      assert.match(
        String(checkInput({ ...model.examples[0], no_such_field: 1 })?.message),
        /^additional properties not allowed/,
      );
    }
  });
});

const FLAT = { unit: 'task', usd: '0.01' } as const;

describe("an operator's model file", () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-models-'));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  /** Loads a directory with one file, and returns the message of its first problem. */
  const messageOf = async (content: string): Promise<string> => {
    const file = path.join(directory, 'bad.json');
    await writeFile(file, content);
    let message = '';
    await assert.rejects(loadModels([directory], PROTOCOLS), (error: unknown) => {
      assert.ok(error instanceof ModelFileError || error instanceof ModelFilesError);
      const [first = ''] = error.message.split(`\n${file}: `);
      assert.ok(first.startsWith(`${file}: `), error.message);
      message = first.slice(file.length + 2);
      return true;
    });
    return message;
  };

  // Proves S9.3-1.
  it('is read beside the others, in the order of the names', async () => {
    await writeFile(path.join(directory, 'b.json'), JSON.stringify(definition({ name: 'b' })));
    await writeFile(path.join(directory, 'a.json'), JSON.stringify(definition({ name: 'a' })));
    await writeFile(path.join(directory, 'notes.txt'), 'not a model');

    assert.deepEqual(
      (await loadModels([directory], PROTOCOLS)).map((model) => model.name),
      ['a', 'b'],
    );
  });

  it('is rejected with its name, the position and the reason', async () => {
    const changed = (changes: object): string => JSON.stringify({ ...definition(), ...changes });
    const { limits, inputSchema } = definition();
    const seed = { type: 'integer', minimum: 0, default: -1 };
    const cases: [string, RegExp][] = [
      ['{"name":', /JSON/],
      ['{\n  "name": "a",\n  "modality" "image"\n}', /line 3,? column 14/],
      ['[]', /^invalid model file: type: got array, want object$/],
      [changed({ nmae: 'x' }), /^additional properties not allowed: nmae$/],
      [changed({ pricing: undefined }), /^invalid model file: missing property: pricing$/],
      [
        changed({ modality: 'sculpture' }),
        /^invalid model file: modality: enum: got "sculpture", want one of "image", /,
      ],
      [changed({ name: 'has blanks' }), /^invalid model file: name: pattern: got "has blanks"/],
      [changed({ name: 'a@b' }), /^invalid model file: name: pattern: got "a@b"/],
      [
        changed({ limits: { ...limits, queuedSeconds: '1' } }),
        /^invalid model file: limits\.queuedSeconds: type: got string, want integer$/,
      ],
      [
        changed({ limits: { ...limits, handlingSeconds: 0 } }),
        /^invalid model file: limits\.handlingSeconds: minimum: got 0, want 1$/,
      ],
      [changed({ pricing: { unit: 'image', usd: '-1' } }), /^invalid model file: pricing\.usd: pattern/],
      [
        changed({ pricing: { unit: 'image', usd: 0.01 } }),
        /^invalid model file: pricing\.usd: type: got number, want string$/,
      ],
      [changed({ pricing: { unit: 'frame', usd: '1' } }), /^invalid model file: pricing\.unit: enum: got "frame"/],
      [changed({ pricing: { unit: 'image', usd: '1', n: 2 } }), /^additional properties not allowed: pricing\.n$/],
      [
        changed({ pricing: { unit: 'image', usd: '1', count: { field: 'n', default: 1 } } }),
        /^pricing\.count\.field: the inputSchema has no property "n"$/,
      ],
      [
        changed({ inputSchema: { type: 'object', properties: {} } }),
        /^inputSchema: it must have .*"additionalProperties": false$/,
      ],
      [changed({ deprecatedAt: -1 }), /^invalid model file: deprecatedAt: minimum: got -1, want 0$/],
      [changed({ deprecatedAt: 1000, retiresAt: 999 }), /^retiresAt: 999 is before deprecatedAt, 1000$/],
      [changed({ replacement: 'no/such' }), /^replacement: there is no other model called no\/such$/],
      [changed({ replacement: definition().name }), /^replacement: there is no other model/],
      [
        changed({ routes: { default: { upstreams: [{ protocol: 'nothing', model: 'x' }] } } }),
        /^routes\.default\.upstreams\.0\.protocol: there is no "nothing", only embedded, openai, /,
      ],
      [changed({ routes: { fast: definition().routes['default'] } }), /^routes: there is no default route$/],
      [
        changed({ routes: { default: { upstreams: [] } } }),
        /^invalid model file: routes\.default\.upstreams: minItems: got 0, want 1$/,
      ],
      [changed({ inputSchema: { type: 'object', propreties: {} } }), /^inputSchema: .*propreties/],
      [
        changed({ inputSchema: { type: 'object', properties: { a: { type: 'text' } } } }),
        /^inputSchema: .*properties\/a\/type/,
      ],
      [
        changed({ inputSchema: { ...inputSchema, properties: { prompt: { type: 'string' }, seed } }, pricing: FLAT }),
        /^inputSchema: a default is not allowed: invalid input: seed: minimum: got -1, want 0$/,
      ],
      [changed({ examples: [] }), /^invalid model file: examples: minItems: got 0, want 1$/],
      [
        changed({ examples: [{ prompt: 'a' }, { prompt: 'a', resolution: '3k' }] }),
        /^examples\.1: invalid input: resolution: enum/,
      ],
    ];
    for (const [content, expected] of cases) assert.match(await messageOf(content), expected);
  });

  it('names an image model that answers images, if it is a text model with one', async () => {
    const expected = /^imageModel: there is no model called \S+ that answers \/v1\/images\/generations$/;
    for (const imageModel of ['no/such', 'acme/text']) {
      assert.match(await messageOf(JSON.stringify(textDefinition({ imageModel }))), expected);
    }
  });

  it('may name a replacement, and an image model, that is in another directory', async () => {
    const other = 'darkroom/scene';
    const drawing = textDefinition({ name: 'acme/drawing', imageModel: other });
    await writeFile(path.join(directory, 'a.json'), JSON.stringify(definition({ replacement: other })));
    await writeFile(path.join(directory, 'b.json'), JSON.stringify(drawing));

    const models = await loadModels([directory, packageFile('models')], PROTOCOLS);

    assert.equal(models.find(({ name }) => name === 'acme/images')?.replacement, other);
    assert.ok(models.some(({ name }) => name === 'acme/drawing'));
  });

  it('may begin with a byte order mark', async () => {
    await writeFile(path.join(directory, 'a.json'), `\uFEFF${JSON.stringify(definition())}`);

    assert.equal((await loadModels([directory], PROTOCOLS)).length, 1);
  });

  it('is rejected when it is not a file, or does not exist', async () => {
    await mkdir(path.join(directory, 'a.json'));
    await assert.rejects(loadModels([directory], PROTOCOLS), {
      name: 'ModelFileError',
      message: /a\.json: not a file$/,
    });

    const missing = path.join(directory, 'missing');
    await assert.rejects(loadModels([missing], PROTOCOLS), {
      name: 'ModelFileError',
      message: `${missing}: there is no such file or directory`,
    });
  });

  it('is reported together with all other invalid files, one per line', async () => {
    await writeFile(path.join(directory, 'a.json'), '{');
    await writeFile(path.join(directory, 'b.json'), JSON.stringify(definition({ replacement: 'no/such' })));
    await writeFile(path.join(directory, 'c.json'), JSON.stringify(definition()));

    const { problems } = await createModelReader(PROTOCOLS)(await readModelTexts([directory]));

    assert.deepEqual(
      problems.map(({ file, problem }) => [path.basename(file), problem.split(':')[0]]),
      [
        ['a.json', problems[0]?.problem.split(':')[0]],
        ['c.json', 'name'],
        ['b.json', 'replacement'],
      ],
    );
    assert.match(problems[1]?.problem ?? '', /^name: .*b\.json has acme\/images already$/);
    await assert.rejects(loadModels([directory], PROTOCOLS), {
      name: 'ModelFilesError',
      message: /^\S*a\.json: .*\n\S*c\.json: .*\n\S*b\.json: .*$/,
    });
  });

  it('is rejected when it is not UTF-8', async () => {
    await writeFile(path.join(directory, 'own.json'), Buffer.from(JSON.stringify(definition()), 'utf16le'));
    await assert.rejects(loadModels([directory], PROTOCOLS), /own\.json: (it is not text in UTF-8|line 1,? column 2)/);
    const latin = JSON.stringify(definition({ description: 'Für Tests.' }));
    await writeFile(path.join(directory, 'own.json'), Buffer.from(latin, 'latin1'));
    await assert.rejects(loadModels([directory], PROTOCOLS), /own\.json: it is not text in UTF-8$/);
  });

  it('leaves turns to everything else in the process, however many there are', async () => {
    const texts = new Map<string, string>();
    for (let index = 0; index < 1_000; index++) {
      texts.set(`${index}.json`, JSON.stringify(definition({ name: `acme/images-${index}` })));
    }
    let turns = 0;
    const clock = setInterval(() => (turns += 1), 1);
    const since = performance.now();

    const { definitions, problems } = await createModelReader(PROTOCOLS)(texts);
    const catalogue = createCatalogue(definitions);

    clearInterval(clock);
    assert.deepEqual([definitions.length, problems], [1_000, []]);
    assert.equal(catalogue.resolve('acme/images-999', undefined).checkInput({ prompt: 'a' }), undefined);
    // One turn in 50 ms, and a model that takes longer to compile on a busy machine.
    assert.ok(turns >= (performance.now() - since) / 500, `${turns} turns in ${performance.now() - since} ms`);
  });

  it('is rejected with one message if it is a text model', async () => {
    const text = { ...textDefinition(), contextTokens: 10, maxOutputTokens: 11 };
    await writeFile(path.join(directory, 'a.json'), JSON.stringify(text));

    const { problems } = await createModelReader(PROTOCOLS)(await readModelTexts([directory]));

    assert.deepEqual(
      problems.map(({ problem }) => problem),
      ['maxOutputTokens: 11 is more than contextTokens, 10'],
    );
  });

  it('is rejected when a contentMediaType is no media type, with its position', async () => {
    const { inputSchema } = definition();
    const withImage = (image: object) =>
      messageOf(
        JSON.stringify(
          definition({ inputSchema: { ...inputSchema, properties: { ...Object(inputSchema['properties']), image } } }),
        ),
      );

    for (const type of ['image/png, image/jpeg', 'image', 'image/*/png', 'Image/PNG', 'image/png; q=1', '']) {
      assert.equal(
        await withImage({ type: 'string', contentMediaType: type }),
        `inputSchema.properties.image.contentMediaType: ${JSON.stringify(type)} is no media type, such as image/png ` +
          'or image/*; several are an anyOf of schemas with one each',
      );
    }
    const nested = { type: 'array', items: { anyOf: [{ type: 'string', contentMediaType: 'jpeg' }] } };
    assert.match(await withImage(nested), /^inputSchema\.properties\.image\.items\.anyOf\.0\.contentMediaType: /);
    const good = { type: 'string', anyOf: [{ contentMediaType: 'image/svg+xml' }, { contentMediaType: 'image/*' }] };
    const file = path.join(directory, 'bad.json');
    await writeFile(
      file,
      JSON.stringify(
        definition({ inputSchema: { ...inputSchema, properties: { ...Object(inputSchema['properties']), good } } }),
      ),
    );
    assert.equal((await loadModels([directory], PROTOCOLS)).length, 1);
  });

  it('is rejected when a name in it is a member of every object', async () => {
    const text = JSON.stringify(definition());
    for (const name of ['__proto__', 'constructor', 'toString']) {
      assert.equal(await messageOf(text.replace('{', `{"${name}":{},`)), `additional properties not allowed: ${name}`);
    }
    assert.match(await messageOf(text.replace('"default":', '"__proto__":')), /routes/);
  });
});
