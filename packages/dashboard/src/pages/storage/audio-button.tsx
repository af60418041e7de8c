/** Plays audio directly in the gallery. It is fetched when it is first played. */
import { ActionIcon } from '@mantine/core';
import { IconPlayerPause, IconPlayerPlay } from '@tabler/icons-react';
import { useRef, useState } from 'react';
import { texts } from '../../texts/storage.ts';
import styles from './storage.module.css';

export function AudioButton({ url, name }: { readonly url: string; readonly name: string }) {
  const audioRef = useRef<HTMLAudioElement>(null);
  const [isPlaying, setIsPlaying] = useState(false);
  const toggle = (): void => {
    const audio = audioRef.current;
    if (audio === null) return;
    if (audio.paused) void audio.play().catch(() => setIsPlaying(false));
    else audio.pause();
  };
  return (
    <>
      <audio
        ref={audioRef}
        src={url}
        preload="none"
        onPlay={() => setIsPlaying(true)}
        onPause={() => setIsPlaying(false)}
        onEnded={() => setIsPlaying(false)}
      />
      <ActionIcon
        className={styles['audio']}
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
