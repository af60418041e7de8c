/**
 * What an MP3's encoder added before and after the audio, as its first frame states: MP3 consists of whole frames, so
 * audio of 2 s takes 2.04 s of them. The tag is LAME's, which all encoders write: 12 bits of samples for each end.
 */

const SAMPLE_RATES = [44_100, 48_000, 32_000] as const;
/** From the name of the tag on: flags, and what each of the four lowest announces. */
const FIELD_BYTES = [4, 4, 100, 4] as const;
/** From the encoder's name to the paddings. */
const TO_PADDING = 21;

/** In seconds; 0 if it is not an MP3, or does not state it. @param frame the bytes of the first frame, and any more. */
export function mp3PaddingSeconds(frame: Buffer): number {
  if (frame.length < 4 || frame.readUInt8(0) !== 0xff || (frame.readUInt8(1) & 0xe6) !== 0xe2) return 0;
  const version = (frame.readUInt8(1) >> 3) & 3;
  const rate = SAMPLE_RATES[(frame.readUInt8(2) >> 2) & 3];
  const isMono = frame.readUInt8(3) >> 6 === 3;
  if (rate === undefined || version === 1) return 0;
  // After the side information, whose length depends on version and channels.
  const isFirstVersion = version === 3;
  const tag = 4 + (isFirstVersion ? (isMono ? 17 : 32) : isMono ? 9 : 17);
  const name = frame.toString('latin1', tag, tag + 4);
  if ((name !== 'Xing' && name !== 'Info') || frame.length < tag + 160) return 0;
  const flags = frame.readUInt32BE(tag + 4);
  const fields = FIELD_BYTES.reduce((sum, bytes, bit) => sum + ((flags >> bit) & 1 ? bytes : 0), 0);
  const paddings = frame.readUIntBE(tag + 8 + fields + TO_PADDING, 3);
  const samples = (paddings >> 12) + (paddings & 0xfff);
  return samples / (rate / (isFirstVersion ? 1 : version === 2 ? 2 : 4));
}

/** The length of a tag before the audio, 28 bits, seven in a byte; 0: there is none. */
export function id3Length(beginning: Buffer): number {
  if (beginning.toString('latin1', 0, 3) !== 'ID3' || beginning.length < 10) return 0;
  const [a = 0, b = 0, c = 0, d = 0] = beginning.subarray(6, 10);
  return 10 + (a << 21) + (b << 14) + (c << 7) + d;
}
