/**
 * The dashboard's verification code in JavaScript, against deliveries of a real Darkroom. Other languages: test/wide.
 */
import { describeReceiver, startReceiverProgram } from '../support/verifying-receiver.ts';

describeReceiver('JavaScript', {
  source: 'receiver.js',
  program: 'receiver.mjs',
  start: async (setting) => startReceiverProgram(setting, [process.execPath, 'receiver.mjs']),
});
