import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  ContradictoryRouteError,
  ModelUnavailableError,
  UnknownRouteError,
  createCatalogue,
} from '../../src/catalogue/catalogue.ts';
import { definitionHash, limitsOf } from '../../src/catalogue/definition.ts';
import { definition, definitionWithRoutes } from './definitions.ts';

const NAME = 'acme/images';
const catalogue = createCatalogue([definitionWithRoutes('fast', 'eu.west')]);

describe('a model and its route', () => {
  // Proves C2-8.
  it('are the default route where none is named, in every spelling of that', () => {
    for (const [name, route] of [
      [NAME, undefined],
      [NAME, ''],
      [NAME, 'default'],
      [`${NAME}@default`, undefined],
      [`${NAME}@default`, ''],
    ] as const) {
      const resolved = catalogue.resolve(name, route);
      assert.equal(resolved.route, 'default');
      assert.equal(resolved.fullName, NAME);
    }
  });

  // Proves S2.1-4, S9.2-1.
  it('are the named route, whether beside the model or behind it', () => {
    for (const [name, route] of [
      [NAME, 'fast'],
      [`${NAME}@fast`, undefined],
      [`${NAME}@fast`, ''],
      [`${NAME}@fast`, 'fast'],
    ] as const) {
      const resolved = catalogue.resolve(name, route);
      assert.equal(resolved.route, 'fast');
      assert.equal(resolved.fullName, `${NAME}@fast`);
    }
  });

  // Proves C2-9.
  it('are rejected when the two spellings differ', () => {
    assert.throws(() => catalogue.resolve(`${NAME}@fast`, 'eu.west'), ContradictoryRouteError);
    assert.throws(() => catalogue.resolve(`${NAME}@fast`, 'default'), new ContradictoryRouteError('fast', 'default'));
  });

  it('are rejected with the list of routes when the route does not exist', () => {
    const list = 'want one of "default", "fast", "eu.west"';
    assert.throws(() => catalogue.resolve(NAME, 'slow'), {
      name: 'UnknownRouteError',
      message: `invalid request: route: got "slow", ${list}`,
    });
    for (const route of ['Fast', 'fast ', ' ', '__proto__', 'constructor', 'toString']) {
      assert.throws(() => catalogue.resolve(NAME, route), UnknownRouteError, route);
      assert.throws(() => catalogue.resolve(`${NAME}@${route}`, undefined), UnknownRouteError, route);
    }
  });

  // Proves S2.1-1, C2-1.
  it('are case-sensitive, and no similar name matches', () => {
    for (const name of ['acme/Images', 'acme/images ', 'images', '', '@', '@fast', `${NAME}@fast@fast`]) {
      assert.throws(() => catalogue.resolve(name, undefined), ModelUnavailableError, name);
    }
    for (const name of ['__proto__', 'constructor', 'toString', '__proto__@fast']) {
      assert.throws(() => catalogue.resolve(name, undefined), ModelUnavailableError, name);
    }
  });

  // Proves S2.4-4.
  it('are reported to have routes only when there are several', () => {
    assert.equal(catalogue.resolve(NAME, undefined).hasRoutes, true);
    assert.equal(createCatalogue([definition()]).resolve(NAME, undefined).hasRoutes, false);
  });
});

describe('a catalogue', () => {
  it('identifies each definition by a hash of its content, whatever the order of its fields', () => {
    const one = definition();
    const reordered = Object.fromEntries(Object.entries(one).toReversed()) as typeof one;

    assert.equal(definitionHash(reordered), definitionHash(one));
    assert.notEqual(definitionHash(definition({ typicalSeconds: 2 })), definitionHash(one));
    assert.equal(createCatalogue([one]).resolve(NAME, undefined).hash, definitionHash(one));
  });

  it('rejects two models with the same name', () => {
    assert.throws(
      () => createCatalogue([definition(), definition({ created: 1 })]),
      /two models are called acme\/images/,
    );
  });

  // Proves S2.1-2, S2.5-4.
  it('validates the input of each model against its own schema', () => {
    const two = createCatalogue([
      definition(),
      definition({
        name: 'acme/voice',
        inputSchema: {
          type: 'object',
          additionalProperties: false,
          required: ['text'],
          properties: { text: { type: 'string' } },
        },
      }),
    ]);

    assert.equal(two.resolve(NAME, undefined).checkInput({ prompt: 'a' }), undefined);
    assert.equal(
      two.resolve('acme/voice', undefined).checkInput({ text: 'a', prompt: 'a' })?.message,
      'additional properties not allowed: prompt',
    );
  });
});

describe('a model with a retirement date', () => {
  const RETIRES_AT = 1_800_000_000;
  const old = definition({ name: 'acme/old', deprecatedAt: 1, retiresAt: RETIRES_AT, replacement: NAME });
  let now = 0;
  const ageing = createCatalogue([definition(), old], () => now);

  it('is accepted until the very second of its retirement, and then rejected for good', () => {
    now = RETIRES_AT * 1000 - 1;
    assert.equal(ageing.resolve('acme/old', undefined).definition, old);
    assert.deepEqual(ageing.available(), [definition(), old]);

    now = RETIRES_AT * 1000;
    assert.throws(() => ageing.resolve('acme/old', undefined), {
      name: 'ModelUnavailableError',
      message: 'the model "acme/old" was retired and is no longer available; use "acme/images"',
    });
    assert.throws(() => ageing.resolve('acme/old@default', undefined), ModelUnavailableError);
    assert.deepEqual(ageing.available(), [definition()]);
  });

  it('is still known, whatever route its name carries', () => {
    now = RETIRES_AT * 1000;
    assert.equal(ageing.find('acme/old'), old);
    assert.equal(ageing.find('acme/old@nowhere'), old);
    assert.deepEqual(ageing.models, [definition(), old]);
    for (const name of ['acme', '', '@', '__proto__', 'constructor']) assert.equal(ageing.find(name), undefined);
  });
});

describe('the time limits of a model', () => {
  // Proves C4-5.
  it('are its own, or those of its modality when it has none', () => {
    const { limits, ...plain } = definition();

    assert.deepEqual(limitsOf(definition()), limits);
    const handling = (['image', 'audio', 'video'] as const).map((modality) => limitsOf({ ...plain, modality }));
    assert.deepEqual(handling, [
      { queuedSeconds: 86_400, handlingSeconds: 600, archivingSeconds: 1_800 },
      { queuedSeconds: 86_400, handlingSeconds: 900, archivingSeconds: 1_800 },
      { queuedSeconds: 86_400, handlingSeconds: 3_600, archivingSeconds: 1_800 },
    ]);
    assert.deepEqual(limitsOf({ ...plain, modality: 'video', limits: { handlingSeconds: 5 } }), {
      queuedSeconds: 86_400,
      handlingSeconds: 5,
      archivingSeconds: 1_800,
    });
  });
});

describe('an input', () => {
  const { checkInputAll, hasPrice } = createCatalogue([definition()]).resolve(NAME, undefined);

  it('is reported with all of its validation errors', () => {
    assert.deepEqual(checkInputAll({ prompt: 'a' }), []);
    assert.deepEqual(
      checkInputAll({ resolution: '3k', seed: 1 }).map(({ message }) => message),
      [
        'invalid input: missing property: prompt',
        'additional properties not allowed: seed',
        'invalid input: resolution: enum: got "3k", want one of "1k", "2k"',
      ],
    );
  });

  it('has a price when the fields that determine it are valid, whatever the others are', () => {
    assert.equal(hasPrice({ prompt: 1, seed: 1, resolution: '2k' }), true);
    assert.equal(hasPrice({}), true);
    for (const input of [{ prompt: 'a', resolution: '3k' }, { resolution: null }, undefined, null, [], 'x']) {
      assert.equal(hasPrice(input), false, JSON.stringify(input));
    }
  });
});
