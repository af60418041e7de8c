/** Plays audio directly in the gallery. It is fetched when it is first played. */
import { ActionIcon } from '@mantine/core';
import { IconPlayerPause, IconPlayerPlay } from '@tabler/icons-react';
import { useRef, useState } from 'react';
import { texts } from '../../texts/storage.ts';
import styles from './storage.module.css';

export function SoundButton({ url, name }: { readonly url: string; readonly name: string }) {
  const soundRef = useRef<HTMLAudioElement>(null);
  const [isPlaying, setIsPlaying] = useState(false);
  const toggle = (): void => {
    const sound = soundRef.current;
    if (sound === null) return;
    if (sound.paused) void sound.play().catch(() => setIsPlaying(false));
    else sound.pause();
  };
  return (
    <>
      <audio
        ref={soundRef}
        src={url}
        preload="none"
        onPlay={() => setIsPlaying(true)}
        onPause={() => setIsPlaying(false)}
        onEnded={() => setIsPlaying(false)}
      />
      <ActionIcon
        className={styles['sound']}
        variant="default"
        radius="xl"
        onClick={toggle}
        aria-label={isPlaying ? texts.pause(name) : texts.play(name)}
      >
        {isPlaying ? <IconPlayerPause size={16} /> : <IconPlayerPlay size={16} />}
      </ActionIcon>
    </>
  );
}
