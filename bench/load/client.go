// The load of the API server benchmarks: watchers that check every event they get, and writers that count.
//
//	client watch URL PATH WATCHERS EVENTS RATE   one writer makes EVENTS ConfigMaps, RATE a second (0: at once)
//	client write URL PATH FIRST COUNT WRITERS    creates ConfigMaps FIRST ... FIRST+COUNT-1
//	client delete URL PATH FIRST COUNT WRITERS   deletes them again
//
// The bearer token is read from the environment (TOKEN). What was measured is printed as JSON. Connections speak
// HTTP/1.1 over TLS, one per watcher and writer; replies are not decoded further than the checks need. The server was
// made a moment ago by the benchmark, on loopback: its certificate is not verified.
package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	payloadBytes = 1900
	patience     = 60 * time.Second // without any event, a watcher gives up: what is missing was dropped
	largestLine  = 64 * 1024
)

var nameMark = []byte(`"name":"load-`)

type target struct {
	host, path, token string
}

// connection is one HTTP/1.1 connection; requests on it follow one another.
type connection struct {
	*tls.Conn
	reader *bufio.Reader
	target target
}

func dial(to target) *connection {
	conn, err := tls.Dial("tcp", to.host, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
	check(err)
	return &connection{conn, bufio.NewReaderSize(conn, largestLine), to}
}

func (c *connection) ask(method, path string, body []byte) *http.Response {
	var request bytes.Buffer
	fmt.Fprintf(&request, "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n", method, path, c.target.host, c.target.token)
	fmt.Fprintf(&request, "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n", len(body))
	request.Write(body)
	_, err := c.Write(request.Bytes())
	check(err)
	answer, err := http.ReadResponse(c.reader, nil)
	check(err)
	if answer.StatusCode >= 300 {
		text, _ := io.ReadAll(answer.Body)
		fail(fmt.Sprintf("%s %s: %s %s", method, path, answer.Status, text))
	}
	return answer
}

// do asks and reads the whole reply.
func (c *connection) do(method, path string, body []byte) {
	answer := c.ask(method, path, body)
	_, err := io.Copy(io.Discard, answer.Body)
	check(err)
}

func objectName(number int) string { return fmt.Sprintf("load-%07d", number) }

func object(number int) []byte {
	return fmt.Appendf(nil, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"%s"},"data":{"payload":"%s"}}`,
		objectName(number), strings.Repeat("x", payloadBytes))
}

// watcher is one watch and what it has found out.
type watcher struct {
	next       int // the event that must come now
	disordered int
	delays     []time.Duration
}

func (w *watcher) follow(c *connection, body io.Reader, events int, sent []atomic.Int64) {
	lines := bufio.NewReaderSize(body, largestLine)
	for w.next < events {
		check(c.SetReadDeadline(time.Now().Add(patience)))
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return // cut off or silent: what is missing is counted by the caller
		}
		number := numberOf(line)
		if number != w.next {
			w.disordered++
		}
		w.next = number + 1
		w.delays = append(w.delays, time.Duration(time.Now().UnixNano()-sent[number].Load()))
	}
}

func numberOf(line []byte) int {
	at := bytes.Index(line, nameMark)
	if at < 0 || !bytes.HasPrefix(line, []byte(`{"type":"ADDED"`)) {
		fail("not the event of a new object: " + string(line[:min(len(line), 300)]))
	}
	digits := line[at+len(nameMark):]
	number, err := strconv.Atoi(string(digits[:bytes.IndexByte(digits, '"')]))
	check(err)
	return number
}

func watch(to target, count, events, rate int) map[string]any {
	watchers := make([]*watcher, count)
	sent := make([]atomic.Int64, events)
	since := newest(to)
	var opened, ended sync.WaitGroup
	doors := make(chan struct{}, 32) // handshakes at the same time
	opened.Add(count)
	ended.Add(count)
	for i := range watchers {
		watchers[i] = &watcher{delays: make([]time.Duration, 0, events)}
		go func() {
			defer ended.Done()
			doors <- struct{}{}
			c := dial(to)
			answer := c.ask("GET", to.path+"?watch=true&timeoutSeconds=3600&resourceVersion="+since, nil)
			<-doors
			opened.Done()
			watchers[i].follow(c, answer.Body, events, sent)
			c.Close()
		}()
	}
	opened.Wait()
	start := time.Now()
	feed(to, events, rate, sent, start)
	fed := time.Since(start)
	ended.Wait()
	return summary(watchers, events, fed, time.Since(start))
}

func newest(to target) string {
	c := dial(to)
	defer c.Close()
	var list struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	check(json.NewDecoder(c.ask("GET", to.path+"?limit=1", nil).Body).Decode(&list))
	return list.Metadata.ResourceVersion
}

func feed(to target, events, rate int, sent []atomic.Int64, start time.Time) {
	c := dial(to)
	defer c.Close()
	for number := range events {
		if rate > 0 {
			time.Sleep(time.Until(start.Add(time.Duration(number) * time.Second / time.Duration(rate))))
		}
		sent[number].Store(time.Now().UnixNano())
		c.do("POST", to.path, object(number))
	}
}

func summary(watchers []*watcher, events int, fed, took time.Duration) map[string]any {
	var delays []time.Duration
	disordered := 0
	for _, w := range watchers {
		delays = append(delays, w.delays...)
		disordered += w.disordered
	}
	slices.Sort(delays)
	at := func(share float64) float64 {
		if len(delays) == 0 {
			return 0
		}
		return delays[int(share*float64(len(delays)-1))].Seconds()
	}
	return map[string]any{
		"delivered": len(delays), "missing": len(watchers)*events - len(delays), "disordered": disordered,
		"fed_seconds": fed.Seconds(), "seconds": took.Seconds(), "delay_median": at(0.5), "delay_p99": at(0.99),
		"client_cpu": ownProcessor(),
	}
}

// change lets so many writers do one thing to every object of a range.
func change(to target, method string, first, count, writers int) map[string]any {
	var next atomic.Int64
	var ended sync.WaitGroup
	connections := make([]*connection, writers)
	for i := range connections {
		connections[i] = dial(to)
	}
	start := time.Now()
	for _, c := range connections {
		ended.Go(func() {
			for number := int(next.Add(1)) - 1; number < count; number = int(next.Add(1)) - 1 {
				if method == "POST" {
					c.do(method, to.path, object(scattered(first+number)))
				} else {
					c.do(method, to.path+"/"+objectName(scattered(first+number)), nil)
				}
			}
			c.Close()
		})
	}
	ended.Wait()
	return map[string]any{"seconds": time.Since(start).Seconds(), "client_cpu": ownProcessor()}
}

// scattered spreads names over the order, as those of real objects are.
func scattered(number int) int { return number * 7919 % 1_000_003 }

func ownProcessor() float64 {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

func number(position int) int {
	value, err := strconv.Atoi(os.Args[position])
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		fail(err.Error())
	}
}

func fail(problem string) {
	fmt.Fprintln(os.Stderr, "client:", problem)
	os.Exit(1)
}

func main() {
	if len(os.Args) != 7 {
		fail("wants MODE URL PATH and three numbers")
	}
	address, err := url.Parse(os.Args[2])
	check(err)
	to := target{address.Host, os.Args[3], os.Getenv("TOKEN")}
	var measured map[string]any
	switch os.Args[1] {
	case "watch":
		measured = watch(to, number(4), number(5), number(6))
	case "write":
		measured = change(to, "POST", number(4), number(5), number(6))
	case "delete":
		measured = change(to, "DELETE", number(4), number(5), number(6))
	default:
		fail("no such mode: " + os.Args[1])
	}
	check(json.NewEncoder(os.Stdout).Encode(measured))
}
