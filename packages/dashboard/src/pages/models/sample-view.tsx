/** A sample of a model's output, made by the model itself; or a note that there is none. */
import { ActionIcon, AspectRatio, Box, Center, Image, Stack, Text } from '@mantine/core';
import {
  IconMessage2,
  IconMusic,
  IconPhoto,
  IconPlayerPauseFilled,
  IconPlayerPlayFilled,
  IconVideo,
} from '@tabler/icons-react';
import { useRef, useState } from 'react';
import type { RefObject } from 'react';
import type { Modality } from '../../api/models.ts';
import { texts } from '../../texts/models.ts';
import classes from './models.module.css';
import { samples } from './samples.ts';
import type { Sample } from './samples.ts';

const ICONS = { image: IconPhoto, video: IconVideo, audio: IconMusic, text: IconMessage2 } as const;

interface SampleProps {
  readonly name: string;
  readonly modality: Modality;
}

/** Fills a frame with the ratio 16:10. */
export function SampleView({ name, modality }: SampleProps) {
  const sample = Object.hasOwn(samples, name) ? samples[name] : undefined;
  return (
    <AspectRatio ratio={16 / 10} className={classes['sample']}>
      {sample === undefined ? <NoSample modality={modality} /> : <Shown name={name} sample={sample} />}
    </AspectRatio>
  );
}

function Shown({ name, sample }: { readonly name: string; readonly sample: Sample }) {
  const alt = texts.sampleAlt(name, sample.prompt);
  if (sample.kind === 'image')
    return (
      <Image src={addressOf(sample.file)} alt={alt} loading="lazy" fit={isUpright(sample) ? 'contain' : 'cover'} />
    );
  return <Playable name={name} sample={sample} alt={alt} />;
}

function Playable({ name, sample, alt }: { readonly name: string; readonly sample: Sample; readonly alt: string }) {
  const media = useRef<HTMLMediaElement>(null);
  const [isPlaying, setPlaying] = useState(false);
  const toggle = (): void => {
    const element = media.current;
    if (element === null) return;
    if (element.paused) void element.play().catch(() => setPlaying(false));
    else element.pause();
  };
  const shared = {
    src: addressOf(sample.file),
    preload: 'none',
    'aria-label': alt,
    onPlay: () => setPlaying(true),
    onPause: () => setPlaying(false),
    onEnded: () => setPlaying(false),
  };
  return (
    <Box pos="relative">
      {sample.kind === 'video' ? (
        <video
          {...shared}
          ref={media as RefObject<HTMLVideoElement | null>}
          poster={sample.poster === undefined ? undefined : addressOf(sample.poster)}
          muted
          loop
          playsInline
          className={classes['film']}
        />
      ) : (
        <>
          <audio {...shared} ref={media} />
          <Center h="100%" className={classes['sound']} data-playing={isPlaying || undefined} aria-hidden>
            {BARS.map((height, place) => (
              <span key={place} style={{ height: `${height}%` }} />
            ))}
          </Center>
        </>
      )}
      <ActionIcon
        className={classes['play']}
        onClick={toggle}
        size="lg"
        radius="xl"
        variant="filled"
        color="dark"
        aria-label={isPlaying ? texts.pauseSample(name) : texts.playSample(name)}
      >
        {isPlaying ? <IconPlayerPauseFilled size={18} aria-hidden /> : <IconPlayerPlayFilled size={18} aria-hidden />}
      </ActionIcon>
    </Box>
  );
}

/** An upright image would lose too much if it filled the frame. */
function isUpright({ width = 1, height = 1 }: Sample): boolean {
  return width < height;
}

/** A symbolic waveform, not of any particular audio. */
const BARS = [18, 34, 26, 52, 70, 44, 60, 86, 64, 40, 72, 92, 58, 36, 66, 80, 48, 30, 56, 42, 24, 38, 20, 14] as const;

function NoSample({ modality }: { readonly modality: Modality }) {
  const Icon = ICONS[modality];
  return (
    <Center className={classes['none']}>
      <Stack align="center" gap={4} p="md">
        <Icon size={32} aria-hidden stroke={1.4} />
        <Text size="sm" fw={600} ta="center">
          {modality === 'text' ? texts.textSample : texts.noSample}
        </Text>
        {modality === 'text' ? null : (
          <Text size="xs" ta="center">
            {texts.noSampleHint}
          </Text>
        )}
      </Stack>
    </Center>
  );
}

function addressOf(file: string): string {
  return `/assets/samples/${file}`;
}
