// Command router delays packets: those that its host routes into a TUN device go back to it, in the same order, when
// the delay has passed, and the host routes them on. It is for kernels without the netem scheduler.
package main

import (
	"flag"
	"log"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// Larger than any packet that Linux gives to a device without segmentation offload.
const maxPacketBytes = 65536

// Packets on their way. When there are more, the device's own queue fills up and drops, as that of a real router does.
const maxOnTheWay = 20000

type packet struct {
	bytes []byte
	due   time.Time
}

func main() {
	name := flag.String("device", "far0", "the TUN device, which is created and lasts as long as this program")
	delay := flag.Duration("delay", 100*time.Millisecond, "of each packet")
	flag.Parse()
	device, err := openDevice(*name)
	if err != nil {
		log.Fatalf("cannot create the TUN device %s: %v", *name, err)
	}
	onTheWay := make(chan packet, maxOnTheWay)
	go deliver(device, onTheWay)
	buffer := make([]byte, maxPacketBytes)
	for {
		length, err := syscall.Read(device, buffer)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			// The device is down until the host has configured it.
			time.Sleep(10 * time.Millisecond)
			continue
		}
		onTheWay <- packet{append([]byte(nil), buffer[:length]...), time.Now().Add(*delay)}
	}
}

func deliver(device int, onTheWay <-chan packet) {
	for next := range onTheWay {
		time.Sleep(time.Until(next.due))
		if _, err := syscall.Write(device, next.bytes); err != nil {
			log.Printf("a packet was lost: %v", err)
		}
	}
}

// The request of TUNSETIFF: struct ifreq of <linux/if.h>.
type interfaceRequest struct {
	name  [16]byte
	flags uint16
	_     [22]byte
}

func openDevice(name string) (int, error) {
	device, err := syscall.Open("/dev/net/tun", os.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	request := interfaceRequest{flags: syscall.IFF_TUN | syscall.IFF_NO_PI}
	copy(request.name[:len(request.name)-1], name)
	_, _, code := syscall.Syscall(
		syscall.SYS_IOCTL, uintptr(device), syscall.TUNSETIFF, uintptr(unsafe.Pointer(&request)),
	)
	if code != 0 {
		return 0, code
	}
	return device, nil
}
