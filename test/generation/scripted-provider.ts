/** A provider whose answers are those of the test, and which counts what it receives. */
import assert from 'node:assert/strict';
import type { Provider } from '../../src/providers/provider.ts';

export interface ScriptedProvider extends Provider {
  /** How often it was asked to submit. */
  sent(): number;
}

/** @param script what is not part of it is not expected to be called. */
export function scriptedProvider(script: Partial<Provider>): ScriptedProvider {
  let sent = 0;
  const { submit = () => assert.fail('nothing is to be submitted') } = script;
  return {
    protocol: 'scripted',
    isSubmitRepeatable: false,
    worksWhileSubmitting: false,
    poll: () => assert.fail('no job is to be polled'),
    cancel: () => assert.fail('no job is to be stopped'),
    ...script,
    submit(request, call) {
      sent += 1;
      return submit(request, call);
    },
    sent: () => sent,
  };
}
