// Receives Darkroom's callbacks and accepts only what Darkroom signed. Go 1.22 or newer, no packages.
//
//	DARKROOM_WEBHOOK_SECRET=… PORT=3000 go run receiver.go
package main

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"
)

const (
	prefix       = "X-Darkroom"
	tolerance    = 300 * time.Second
	maxBodyBytes = 1_000_000
)

var secret = []byte(os.Getenv("DARKROOM_WEBHOOK_SECRET"))

// rawBody: the bytes as received. Parsing and serializing them again would change them.
func isGenuine(header http.Header, rawBody []byte) bool {
	timestamp := header.Get(prefix + "-Timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	// Prevents replays of recorded deliveries.
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > tolerance {
		return false
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(timestamp + "."))
	mac.Write(rawBody)
	expected := mac.Sum(nil)
	// For a day after a rotation, the previous secret signs too, in its own header.
	for _, name := range []string{"-Signature", "-Signature-Previous"} {
		given, err := hex.DecodeString(header.Get(prefix + name))
		if err == nil && hmac.Equal(given, expected) {
			return true
		}
	}
	return false
}

func receive(w http.ResponseWriter, r *http.Request) {
	rawBody, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if err != nil {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	if !isGenuine(r.Header, rawBody) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var task struct {
		TaskID string `json:"taskId"`
		Status string `json:"status"`
	}
	if err := json.Unmarshal(rawBody, &task); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	// Respond within 10 seconds and do the work afterwards. The same task can be delivered twice: ignore the second one.
	w.WriteHeader(http.StatusNoContent)
	log.Println(task.TaskID, task.Status)
}

func main() {
	if len(secret) == 0 {
		log.Fatal("DARKROOM_WEBHOOK_SECRET is not set")
	}
	log.Fatal(http.ListenAndServe(":"+cmp.Or(os.Getenv("PORT"), "3000"), http.HandlerFunc(receive)))
}
